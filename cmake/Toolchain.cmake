# The compilers and the MLIR that the project is built with, as a toolchain file
# (CMakePresets.json names it). They are those of one LLVM, which llvm-config
# finds, so that no path of a distribution stands in the project. With MLIR_DIR (or
# LLVM_DIR, for the emulator alone) it is the LLVM of that folder, otherwise the
# first of the project's releases that is there. Whatever else the command line or
# the environment names (CMAKE_CXX_COMPILER, CXX) counts instead.

include(${CMAKE_CURRENT_LIST_DIR}/LLVMVersions.cmake)

set(blockscale_llvm_configs ${BLOCKSCALE_LLVM_VERSIONS})
list(TRANSFORM blockscale_llvm_configs PREPEND llvm-config-)
# Both folders are <prefix>/lib/cmake/<name>.
foreach(blockscale_package MLIR_DIR LLVM_DIR)
  if(${blockscale_package})
    find_program(BLOCKSCALE_LLVM_CONFIG NAMES llvm-config
                 PATHS ${${blockscale_package}}/../../../bin NO_DEFAULT_PATH
                 DOC "llvm-config of the LLVM that the project is built with")
  endif()
endforeach()
find_program(BLOCKSCALE_LLVM_CONFIG NAMES ${blockscale_llvm_configs} llvm-config
             DOC "llvm-config of the LLVM that the project is built with")

# CMake tries compilers with the same LLVM.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BLOCKSCALE_LLVM_CONFIG)

# blockscale_ask_llvm(VARIABLE --option): what llvm-config prints.
function(blockscale_ask_llvm variable option)
  execute_process(COMMAND ${BLOCKSCALE_LLVM_CONFIG} ${option}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

if(BLOCKSCALE_LLVM_CONFIG)
  blockscale_ask_llvm(blockscale_llvm_version --version)
endif()
list(GET BLOCKSCALE_LLVM_VERSIONS 0 blockscale_oldest_llvm)
if("${blockscale_llvm_version}" VERSION_GREATER_EQUAL ${blockscale_oldest_llvm})
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
