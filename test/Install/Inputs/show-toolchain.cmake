# What the toolchain file of PROJECT finds.
include(${PROJECT}/cmake/Toolchain.cmake)
message("config ${BLOCKSCALE_LLVM_CONFIG}")
message("compiler ${CMAKE_CXX_COMPILER}")
message("prefix ${CMAKE_PREFIX_PATH}")
