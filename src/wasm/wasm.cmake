# wasm.cmake -- vitrine.wasm: the library's own sources, compiled for WebAssembly.
# CMakeLists.txt includes this, and nothing behind it, for the preset `wasm`.
#
# The module imports nothing: what base/ asks of a system is system_wasm.c.  What it
# exports is every definition (below) for each scalar, and page_NAME: see exports.h.
# Not here: whatever reads files, JSON (the page parses it), threads.
include(tools/generated.cmake)
include_directories(include src ${CMAKE_BINARY_DIR}/generated)
add_compile_definitions(VT_WASM=1)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
# The same sources give the same bytes, wherever they lie.  memcpy is an instruction:
# browsers have it since 2020.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -mbulk-memory -flto)

file(GLOB definitions CONFIGURE_DEPENDS src/kernels/*.c)
list(FILTER definitions EXCLUDE REGEX "_fast\\.c$|/ops\\.c$")
file(GLOB fast CONFIGURE_DEPENDS src/kernels/*_fast.c)
file(GLOB exports CONFIGURE_DEPENDS src/wasm/*_exports.c)
file(GLOB system CONFIGURE_DEPENDS src/wasm/*_wasm.c)
set(each_scalar src/model/gpt.c src/model/gpt_acts.c src/lab/lab_pass.c src/lab/attention_example.c
    src/verify/model/check_pass.c)
set(once ${exports} src/kernels/ops.c
    src/base/bytes.c src/base/elementary.c src/base/elementary_complex.c
    src/base/rng.c src/base/status.c src/base/utf8.c
    src/tokenizer/bpe.c src/tokenizer/bpe_encode.c src/tokenizer/bpe_train.c
    src/tokenizer/bpe_words.c src/tokenizer/presplit.c
    src/model/config.c src/model/gpt_window.c src/train/schedule.c
    src/data/batches.c src/data/dataset.c
    src/sample/filters.c src/sample/generate.c
    src/verify/differences.c src/verify/model/gradcheck_memory.c
    src/lab/lab.c src/lab/lab_check.c src/lab/lab_experiments.c src/lab/attention_shapes.c)

# Small, but for the product of matrices, where the time goes.
set(CMAKE_C_FLAGS_RELEASE "-Oz")
foreach(bits 32 64 128)
  add_library(ref${bits} OBJECT ${definitions} ${each_scalar})
  target_compile_definitions(ref${bits} PRIVATE VT_SCALAR=${bits})
endforeach()
add_library(gpt_fast OBJECT src/model/gpt.c src/model/gpt_acts.c)
target_compile_definitions(gpt_fast PRIVATE VT_SCALAR=32 VT_FAST=1)
add_library(fast_wasm OBJECT ${fast})
target_compile_definitions(fast_wasm PRIVATE VT_ISA=wasm VT_ISA_wasm=1 VT_INFERENCE=1)
target_compile_options(fast_wasm PRIVATE -Os -msimd128)
set_source_files_properties(src/kernels/gemm_fast.c PROPERTIES COMPILE_OPTIONS -O2)
set_source_files_properties(src/kernels/embedding_fast.c src/kernels/residual_fast.c
  src/kernels/linear_fast.c src/kernels/ops_fast.c PROPERTIES COMPILE_OPTIONS -Oz)
add_library(once OBJECT ${once})
add_dependencies(once generated)
# What stands in for the C library's functions, which the optimiser knows by name:
# apart from the rest, and not to be made into calls of themselves.
add_library(system_wasm OBJECT ${system})
target_compile_options(system_wasm PRIVATE -fno-lto -fno-builtin)

# Of the parameters' updates and of what a GPT does not use, doubles are enough.
set(each embedding_forward linear_forward linear_backward softmax_forward softmax_backward
    layernorm_forward layernorm_backward gelu_forward gelu_backward
    residual_forward residual_backward attention_forward attention_backward
    crossentropy_forward crossentropy_backward)
set(double embedding_backward attention_masked_forward
    attention_masked_backward sum_squares clip_factor adamw)
# Addresses in as few bytes as they need: 6 KB less, 0.9 KB of them compressed.
set(link -nostartfiles -flto -Wl,--no-entry -Wl,--strip-all -Wl,--compress-relocations
    -Wl,--gc-sections -Wl,-O2
    -Wl,-z,stack-size=1048576)
foreach(name ${each})
  list(APPEND link -Wl,--export=ref_${name}_f32 -Wl,--export=ref_${name}_f64
                   -Wl,--export=ref_${name}_c128)
endforeach()
foreach(name ${double})
  list(APPEND link -Wl,--export=ref_${name}_f64)
endforeach()

add_executable(vitrine_wasm $<TARGET_OBJECTS:ref32> $<TARGET_OBJECTS:ref64>
               $<TARGET_OBJECTS:ref128> $<TARGET_OBJECTS:gpt_fast> $<TARGET_OBJECTS:fast_wasm>
               $<TARGET_OBJECTS:once> $<TARGET_OBJECTS:system_wasm>)
set_target_properties(vitrine_wasm PROPERTIES OUTPUT_NAME vitrine SUFFIX .wasm
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINKER_LANGUAGE C)
target_link_options(vitrine_wasm PRIVATE ${link})
add_custom_command(TARGET vitrine_wasm POST_BUILD
  COMMAND sh ${CMAKE_SOURCE_DIR}/tools/wasm_size.sh $<TARGET_FILE:vitrine_wasm> VERBATIM)
