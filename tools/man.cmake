# man.cmake -- the man pages: build/man/NAME.SECTION from docs/man/NAME.SECTION.scd, where
# scdoc is there (package scdoc).  Their date is that of the commit, so that the same
# sources make the same pages.
find_program(SCDOC scdoc)
mark_as_advanced(SCDOC)
set(man_pages)
if(NOT SCDOC)
  message(STATUS "no man pages are built: scdoc is missing (./test installs it)")
  return()
endif()
execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE man_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT man_date)
  string(TIMESTAMP man_date %s UTC)
endif()
file(GLOB man_sources CONFIGURE_DEPENDS docs/man/*.scd)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
foreach(source ${man_sources})
  get_filename_component(page ${source} NAME_WLE)
  set(page ${CMAKE_BINARY_DIR}/man/${page})
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${man_date} ${SCDOC} < ${source} > ${page}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${page}.new ${page}
    DEPENDS ${source} VERBATIM COMMENT "${page}")
  list(APPEND man_pages ${page})
endforeach()
add_custom_target(man ALL DEPENDS ${man_pages})
