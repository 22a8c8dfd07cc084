# tests.cmake -- every tests/test_NAME.c is a program of cmocka tests that
# speaks TAP; ./test runs them all and counts.
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
pkg_check_modules(MPFR IMPORTED_TARGET mpfr)
pkg_check_modules(PCRE2 IMPORTED_TARGET libpcre2-8)
if(NOT (CMOCKA_FOUND AND MPFR_FOUND AND PCRE2_FOUND))
  message(STATUS "no tests are built: cmocka, mpfr or pcre2 is missing (./test installs them)")
  return()
endif()

add_library(test_support STATIC tests/support.c tests/guarded.c tests/scratch.c tests/kernels.c tests/model_case.c tests/check_subject.c
            tests/tiny_model.c)
target_link_options(test_support INTERFACE LINKER:-u,test_error)   # support.c also reads VITRINE_TEST
target_link_libraries(test_support PUBLIC vitrine PkgConfig::CMOCKA PkgConfig::MPFR PkgConfig::PCRE2)
target_compile_definitions(test_support PUBLIC
  VT_GOLDEN="${CMAKE_SOURCE_DIR}/tests/golden" VT_SOURCE="${CMAKE_SOURCE_DIR}")

# VITRINE_FOR_BITS: to be read alone, by tools/second_compiler.sh.
# Their own text runs as fast at -O1 as at -O3, and compiles in two thirds of the time; under the
# sanitizers it is not optimised, and its lines are not counted: tools/coverage reads src alone.
file(GLOB programs CONFIGURE_DEPENDS tests/test_*.c)
foreach(path ${programs})
  get_filename_component(name ${path} NAME_WE)
  if(VITRINE_FOR_BITS)
    add_library(${name} OBJECT ${path})
  else()
    add_executable(${name} ${path})
    set(how "")
    if(VITRINE_SANITIZE)
      set(how -O0 -fno-profile-arcs -fno-test-coverage)
    elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
      set(how -O1)
    endif()
    if(NOT name MATCHES "_fast$")                          # those compute what they expect
      set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "${how}")
    endif()
  endif()
  target_link_libraries(${name} PRIVATE test_support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

if(VITRINE_COVERAGE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_sources(vitrine_cli PRIVATE tests/sparse_counts.c tests/huge_tables.c)
  set_source_files_properties(tests/sparse_counts.c tests/huge_tables.c PROPERTIES
    COMPILE_OPTIONS "-fno-sanitize=all;-fno-profile-arcs;-fno-test-coverage")
endif()

# For torch_model.py.
add_executable(dump_definitions tests/dump_definitions.c)
target_link_libraries(dump_definitions PRIVATE vitrine)
set_target_properties(dump_definitions PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# The words of simd.h, once for each instruction set, for test_simd.c.
foreach(isa ${isas})
  add_library(simd_words_${isa} OBJECT tests/simd_words.c)
  target_compile_options(simd_words_${isa} PRIVATE ${flags_${isa}})
  target_compile_definitions(simd_words_${isa} PRIVATE VT_ISA=${isa} VT_ISA_${isa}=1)
  target_sources(test_simd PRIVATE $<TARGET_OBJECTS:simd_words_${isa}>)
endforeach()
target_compile_definitions(test_simd PRIVATE ${processor})

# Of the command, not the library.
target_sources(test_junit PRIVATE src/cli/junit.c)
target_sources(test_roofline PRIVATE src/cli/roofline.c)
target_sources(test_growth PRIVATE src/cli/curves.c)
target_link_libraries(test_austen PRIVATE ZLIB::ZLIB)       # it makes archives
target_link_libraries(test_npz PRIVATE ZLIB::ZLIB)          # sums of zeros

add_executable(bits tests/bits.c tests/bits_dump.c tests/bits_compare.c)     # for cli_bits.sh and tools/bits
target_link_libraries(bits PRIVATE test_support)
set_target_properties(bits PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

add_executable(race tests/race.c)           # a fault for the thread sanitizer: cli_race.sh
target_link_libraries(race PRIVATE Threads::Threads)
set_target_properties(race PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Kernels that do wrong, for test_kernel_host.c: nasty.c without sanitizers, which would
# see the faults first, and without optimisation, which may leave a fault out.
function(nasty name)
  add_library(${name} MODULE tests/kernels/nasty.c)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/kernels)
  target_compile_options(${name} PRIVATE -fno-sanitize=all -fno-profile-arcs -fno-test-coverage -O0 -w)
  target_link_options(${name} PRIVATE -fno-sanitize=all)
  target_compile_definitions(${name} PRIVATE ${ARGN})
  add_dependencies(test_kernel_host ${name})
endfunction()
nasty(nasty)
nasty(nasty_names NASTY_NAMES=1)
nasty(nasty_abi NASTY_ABI=2)
nasty(nasty_abi_same NASTY_ABI=1)
nasty(nasty_load_null NASTY_AT_LOAD=NASTY_NULL)
nasty(nasty_load_sleep NASTY_AT_LOAD=NASTY_SLEEP)
nasty(nasty_load_exit NASTY_AT_LOAD=NASTY_EXIT)
nasty(nasty_load_abort NASTY_AT_LOAD=NASTY_TALK_AND_ABORT)
target_compile_definitions(test_kernel_host PRIVATE
  VT_NASTY="${CMAKE_BINARY_DIR}/tests/kernels" VT_INCLUDE="${CMAKE_SOURCE_DIR}/include")

# Any specimen as a kernel of somebody else's: VT_SPECIMEN=NAME vitrine check --kernel ...
add_library(specimen_kernel MODULE tests/kernels/specimen_kernel.c)
set_target_properties(specimen_kernel PROPERTIES PREFIX "" SUFFIX .so OUTPUT_NAME specimen
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/kernels)
target_link_libraries(specimen_kernel PRIVATE vitrine)
add_dependencies(test_specimens specimen_kernel)
target_compile_definitions(test_specimens PRIVATE
  VT_SPECIMENS="${CMAKE_BINARY_DIR}/tests/kernels/specimen.so")

# A preload that lets a chosen call of a program fail, for tools/faults; its part that
# counts and refuses memory is in test_faults and test_learn, too.
add_library(fault_shim MODULE tests/fault_shim.c tests/fault_memory.c)
set_target_properties(fault_shim PROPERTIES PREFIX "" SUFFIX .so
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_compile_options(fault_shim PRIVATE -fno-sanitize=all -fno-profile-arcs -fno-test-coverage -fno-builtin)
target_link_options(fault_shim PRIVATE -fno-sanitize=all)
target_sources(test_faults PRIVATE tests/fault_memory.c)
target_sources(test_learn PRIVATE tests/fault_memory.c)
# Not instrumented: it is asked for memory before the sanitizer has begun.
set_source_files_properties(tests/fault_memory.c PROPERTIES COMPILE_OPTIONS
                            "-fno-builtin;-fno-sanitize=all;-fno-profile-arcs;-fno-test-coverage")
