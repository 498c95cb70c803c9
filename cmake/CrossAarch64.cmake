# Cross-compiles for Linux on aarch64, as the toolchain file of the preset aarch64.
#
# The compilers, the linker and mlir-tblgen are this machine's (Toolchain.cmake).
# Headers and libraries, those of LLVM and MLIR among them, are of a Debian arm64
# that lies unpacked in the folder; scripts/sysroot.sh makes it. Its LLVM must be of
# the version of this machine's.

if(NOT BLOCKSCALE_SYSROOT)
  message(FATAL_ERROR "expected -DBLOCKSCALE_SYSROOT=FOLDER, which scripts/sysroot.sh makes")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/Toolchain.cmake)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BLOCKSCALE_SYSROOT)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT ${BLOCKSCALE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${BLOCKSCALE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# This machine's ld links for this machine alone.
foreach(blockscale_kind EXE SHARED MODULE)
  set(CMAKE_${blockscale_kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
endforeach()
