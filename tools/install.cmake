# install.cmake -- what `cmake --install build --prefix P` puts under P: the command, the
# library with its headers and vitrine.pc, man pages, the documents that they and --help
# name, completions of three shells and, where it was built (tools/site), the site's pages, which `vitrine site` copies.
include(GNUInstallDirs)

# Scripts of completion: printed by the command itself, so never older than it.
set(completions ${CMAKE_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${completions})
add_custom_command(OUTPUT ${completions}/vitrine.bash ${completions}/_vitrine ${completions}/vitrine.fish
  COMMAND vitrine_cli completions bash > ${completions}/vitrine.bash
  COMMAND vitrine_cli completions zsh > ${completions}/_vitrine
  COMMAND vitrine_cli completions fish > ${completions}/vitrine.fish
  DEPENDS vitrine_cli VERBATIM COMMENT "completions")
add_custom_target(completions ALL DEPENDS ${completions}/vitrine.bash)

# The prefix is where the file lies: an installed tree can be moved.
configure_file(tools/vitrine.pc.in ${CMAKE_BINARY_DIR}/vitrine.pc @ONLY)

install(TARGETS vitrine_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS vitrine ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/vitrine.h include/vitrine_kernel.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/vitrine.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(page ${man_pages})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md ${documents} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vitrine)
install(FILES ${completions}/vitrine.bash RENAME vitrine
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_vitrine DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/vitrine.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${CMAKE_BINARY_DIR}/site/ DESTINATION ${CMAKE_INSTALL_DATADIR}/vitrine/site OPTIONAL)
