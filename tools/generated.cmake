# generated.cmake -- what the build makes: headers and tables under
# build/generated, each from one source named here.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)

# version.h: the commit, refreshed at every build, written when it changed.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}} -std=c11 -ffp-contract=off" build_flags)
if(VITRINE_SANITIZE)
  string(APPEND build_flags " -fsanitize=address,undefined -O1")
endif()
if(VITRINE_SANITIZE_THREADS)
  string(APPEND build_flags " -fsanitize=thread -O1")
endif()
add_custom_target(version_h
  COMMAND sh ${CMAKE_SOURCE_DIR}/tools/version.sh ${CMAKE_SOURCE_DIR}
          ${CMAKE_BINARY_DIR}/generated/version.h "${PROJECT_VERSION}"
          "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${build_flags}"
  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/version.h VERBATIM
  COMMENT "version.h")
add_custom_target(generated DEPENDS version_h)

# unicode_classes.inc: letters, numbers and spaces, from Debian's unicode-data.
# The package says which version of Unicode a build speaks; WebAssembly's build
# uses the same file.
set(VITRINE_UNICODE /usr/share/unicode/UnicodeData.txt CACHE FILEPATH
    "UnicodeData.txt (package unicode-data)")
set(unicode_classes ${CMAKE_BINARY_DIR}/generated/unicode_classes.inc)
add_custom_command(OUTPUT ${unicode_classes}
  COMMAND awk -f ${CMAKE_SOURCE_DIR}/tools/unicode_classes.awk ${VITRINE_UNICODE}
          > ${unicode_classes}.new
  COMMAND ${CMAKE_COMMAND} -E rename ${unicode_classes}.new ${unicode_classes}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/unicode_classes.awk ${VITRINE_UNICODE} VERBATIM
  COMMENT "unicode_classes.inc")
add_custom_target(unicode_classes DEPENDS ${unicode_classes})
add_dependencies(generated unicode_classes)

# torch_ops.inc: src/cli/torch_ops.py as the lines of a C string, for the command to give
# to Python.
set(torch_ops ${CMAKE_BINARY_DIR}/generated/torch_ops.inc)
add_custom_command(OUTPUT ${torch_ops}
  COMMAND sed -e "s/[\"\\\\]/\\\\&/g" -e "s/.*/\"&\\\\n\"/" ${CMAKE_SOURCE_DIR}/src/cli/torch_ops.py
          > ${torch_ops}.new
  COMMAND ${CMAKE_COMMAND} -E rename ${torch_ops}.new ${torch_ops}
  DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/torch_ops.py VERBATIM
  COMMENT "torch_ops.inc")
add_custom_target(torch_ops_inc DEPENDS ${torch_ops})
add_dependencies(generated torch_ops_inc)

# known-faults.md: the rows of docs/known-faults.md with links to their tests, for readers.
# What is wrong with them is for ./test rows to say.  The module of the pages has no tests.
if(NOT VITRINE_WASM)
  file(GLOB rows_of CONFIGURE_DEPENDS tests/*.c tests/*.h tests/*.sh tests/*.py)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/known-faults.md
    COMMAND sh ${CMAKE_SOURCE_DIR}/tools/rows.sh --table ${CMAKE_BINARY_DIR}/known-faults.md
            ${CMAKE_SOURCE_DIR} > ${CMAKE_BINARY_DIR}/known-faults.log 2>&1 || true
    DEPENDS ${CMAKE_SOURCE_DIR}/tools/rows.sh ${CMAKE_SOURCE_DIR}/docs/known-faults.md ${rows_of}
    COMMENT "known-faults.md")
  add_custom_target(known_faults ALL DEPENDS ${CMAKE_BINARY_DIR}/known-faults.md)
endif()
