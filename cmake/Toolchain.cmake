# The compilers and the MLIR that the project is built with, as a toolchain file
# (CMakePresets.json names it). They are those of one LLVM 22, which llvm-config
# finds, so that no path of a distribution stands in the project. Whatever the
# command line or the environment names (CMAKE_CXX_COMPILER, CXX, MLIR_DIR) counts
# instead.

find_program(BLOCKSCALE_LLVM_CONFIG NAMES llvm-config-22 llvm-config
             DOC "llvm-config of LLVM 22")

# blockscale_ask_llvm(VARIABLE --option): what llvm-config prints.
function(blockscale_ask_llvm variable option)
  execute_process(COMMAND ${BLOCKSCALE_LLVM_CONFIG} ${option}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

if(BLOCKSCALE_LLVM_CONFIG)
  blockscale_ask_llvm(blockscale_llvm_version --version)
endif()
if("${blockscale_llvm_version}" MATCHES "^22\\.")
  blockscale_ask_llvm(blockscale_llvm_programs --bindir)
  blockscale_ask_llvm(blockscale_llvm --prefix)
  if(NOT DEFINED ENV{CC} AND EXISTS ${blockscale_llvm_programs}/clang)
    set(CMAKE_C_COMPILER ${blockscale_llvm_programs}/clang
        CACHE FILEPATH "C compiler")
  endif()
  if(NOT DEFINED ENV{CXX} AND EXISTS ${blockscale_llvm_programs}/clang++)
    set(CMAKE_CXX_COMPILER ${blockscale_llvm_programs}/clang++
        CACHE FILEPATH "C++ compiler")
  endif()
  # A place to look, so that an installed BlockScale still finds its own MLIR.
  list(APPEND CMAKE_PREFIX_PATH ${blockscale_llvm})
endif()
