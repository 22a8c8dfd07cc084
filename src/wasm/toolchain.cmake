# toolchain.cmake -- clang for WebAssembly, Debian 12's: for the preset `wasm`.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)

function(vitrine_need what found package)
  if(NOT found)
    message(FATAL_ERROR "WebAssembly's toolchain is not complete: ${what} is missing: install Debian's "
                        "package ${package} (tools/setup.sh site does)")
  endif()
endfunction()
find_program(VITRINE_WASM_CLANG NAMES clang-14)
find_program(VITRINE_WASM_LINKER NAMES wasm-ld-14)
file(GLOB libc /usr/include/wasm32-wasi/stdlib.h)
file(GLOB builtins /usr/lib/llvm-14/lib/clang/14.*/lib/wasi/libclang_rt.builtins-wasm32.a)
vitrine_need("clang-14" "${VITRINE_WASM_CLANG}" clang-14)
vitrine_need("wasm-ld-14" "${VITRINE_WASM_LINKER}" lld-14)
vitrine_need("its C library" "${libc}" wasi-libc)
vitrine_need("libclang_rt.builtins-wasm32.a" "${builtins}" libclang-rt-14-dev-wasm32)

set(CMAKE_C_COMPILER ${VITRINE_WASM_CLANG})
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
# CMake would try the compiler with a program that has main(), or with a library.
set(CMAKE_C_COMPILER_WORKS TRUE)
set(CMAKE_C_ABI_COMPILED TRUE)
