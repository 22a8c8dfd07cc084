# cross.cmake -- the fast kernels and their tests for another processor: aarch64 (NEON,
# and the portable ones), or WebAssembly's vectors.  CMakeLists.txt includes this, and
# nothing behind it, for the presets `aarch64` and `wasm-tests`; ./test runs the programs
# by emulate.sh and wasi.mjs.
#
# The sources of kernels and tests are those of every other build.  There are no libraries
# for these processors here (Debian has aarch64's, but not without a change of the user's
# system): cmocka.h in this folder stands in for cmocka, golden files (JSON) are not read.
# Linked statically: the emulator needs no folder of libraries.
include_directories(include src tests tests/cross)
add_compile_definitions(VT_CROSS=1)

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "wasm32")
  # One thread, and one set: what base/ asks of a system is the module's.  The kernels are
  # all there, not only those of the module (VT_INFERENCE).  Memory is there from the
  # start: Node 20 crashes at the end of a WASI program whose memory grew.
  set(isas wasm)
  set(flags_wasm -msimd128)
  add_compile_definitions(VT_WASM=1)
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  set(CMAKE_EXECUTABLE_SUFFIX .wasm)
  set(system src/wasm/system_wasm.c src/base/bytes.c src/base/elementary.c src/base/rng.c
      src/base/status.c src/base/utf8.c tests/cross/guarded_wasm.c)
  add_link_options(-Wl,-z,stack-size=1048576 -Wl,--initial-memory=268435456)
else()
  add_link_options(-static)
  find_package(Threads REQUIRED)
  file(GLOB system CONFIGURE_DEPENDS src/base/*.c)
  list(FILTER system EXCLUDE REGEX "/sha256[^/]*$")     # hashes are libmd's
  list(APPEND system tests/guarded.c)
endif()
file(GLOB definitions CONFIGURE_DEPENDS src/kernels/*.c)
list(FILTER definitions EXCLUDE REGEX "_fast\\.c$|/ops\\.c$")
file(GLOB fast CONFIGURE_DEPENDS src/kernels/*_fast.c)

add_library(kernels STATIC ${system} src/kernels/ops.c tests/support.c tests/cross/small_cmocka.c)
target_compile_definitions(kernels PUBLIC ${processor})
target_link_libraries(kernels PUBLIC ${CMAKE_THREAD_LIBS_INIT} m)
foreach(bits 32 64)
  add_library(ref${bits} OBJECT ${definitions})
  target_compile_definitions(ref${bits} PRIVATE VT_SCALAR=${bits})
  target_sources(kernels PRIVATE $<TARGET_OBJECTS:ref${bits}>)
endforeach()
foreach(isa ${isas})
  add_library(fast_${isa} OBJECT ${fast} tests/simd_words.c)
  target_compile_options(fast_${isa} PRIVATE ${flags_${isa}})
  target_compile_definitions(fast_${isa} PRIVATE VT_ISA=${isa} VT_ISA_${isa}=1)
  target_sources(kernels PRIVATE $<TARGET_OBJECTS:fast_${isa}>)
endforeach()

file(GLOB programs CONFIGURE_DEPENDS tests/test_*_fast.c)
foreach(path ${programs} tests/test_simd.c tests/test_simd_math.c)
  get_filename_component(name ${path} NAME_WE)
  add_executable(${name} ${path})
  target_link_libraries(${name} PRIVATE kernels)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
