# generated.cmake -- what the build makes: headers and tables under
# build/generated, each from one source named here.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)

# version.h: the commit, refreshed at every build, written when it changed.
add_custom_target(version_h
  COMMAND sh ${CMAKE_SOURCE_DIR}/tools/version.sh ${CMAKE_SOURCE_DIR}
          ${CMAKE_BINARY_DIR}/generated/version.h "${PROJECT_VERSION}"
          "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_BUILD_TYPE}"
  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/version.h
  COMMENT "version.h")
add_custom_target(generated DEPENDS version_h)
