# Whether PROJECT builds with an LLVM of VERSION.
include(${PROJECT}/cmake/LLVMVersions.cmake)
blockscale_check_llvm(${VERSION} /llvm)
message("taken")
