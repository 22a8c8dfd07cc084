# fuzz.cmake -- the fuzz targets, by libFuzzer (clang), with the address and
# undefined-behaviour sanitizers.  CMakeLists.txt includes this, and nothing behind
# it, for the preset `fuzz`.
#
# Only what reads is compiled: a second or two a file is a minute for everything.
# Each tests/fuzz/fuzz_NAME.c is the program build/fuzz/NAME; tests/fuzz/run.sh
# runs one.
include_directories(include src ${CMAKE_BINARY_DIR}/generated)
include(tools/generated.cmake)
set(sanitizers address,undefined)
add_compile_options(-fsanitize=${sanitizers},fuzzer-no-link -fno-sanitize-recover=all
                    -fno-omit-frame-pointer -ffunction-sections -fdata-sections -O1 -g1)
add_link_options(-fsanitize=${sanitizers})

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(MD REQUIRED IMPORTED_TARGET libmd)

file(GLOB read CONFIGURE_DEPENDS src/base/*.c src/formats/*.c src/tokenizer/*.c src/data/*.c)
include_directories(tests/fuzz)
add_library(read STATIC ${read} src/model/config.c src/model/checkpoint.c
            src/model/checkpoint_write.c src/train/run_record.c src/train/corpus_record.c
            src/train/settings.c
            src/train/schedule.c src/provenance/manifest.c src/provenance/build_info.c
            src/sample/filters.c src/sample/utf8_stream.c src/serve/target.c src/serve/generate_request.c
            src/verify/host/kernel_elf.c tests/fuzz/fuzz.c tests/fuzz/no_kernels.c
            tests/fuzz/json_grammar.c)
add_dependencies(read generated)
target_link_libraries(read PUBLIC PkgConfig::JANSSON PkgConfig::MD ZLIB::ZLIB Threads::Threads m)

file(GLOB targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(path ${targets})
  get_filename_component(name ${path} NAME_WE)
  string(REPLACE fuzz_ "" name ${name})
  add_executable(${name} ${path})
  target_link_libraries(${name} PRIVATE read)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer -Wl,--gc-sections)
endforeach()
target_sources(safetensors PRIVATE tests/fuzz/header_mutator.c)
target_sources(checkpoint PRIVATE tests/fuzz/header_mutator.c)
