# What every build needs of LLVM once find_package has found it: its functions and
# compile options, where it puts programs and libraries, and its test runner. The
# project includes this behind MLIR, the emulator alone (emulator/CMakeLists.txt)
# with nothing but LLVM.
include(${CMAKE_CURRENT_LIST_DIR}/LLVMVersions.cmake)
blockscale_check_llvm(${LLVM_PACKAGE_VERSION} ${LLVM_DIR})
find_program(LLVM_EXTERNAL_LIT NAMES lit llvm-lit HINTS ${LLVM_TOOLS_BINARY_DIR}
             DOC "LLVM's test runner")

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH "${LLVM_CMAKE_DIR}")
include(AddLLVM)
include(HandleLLVMOptions)
include(GNUInstallDirs)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS})
