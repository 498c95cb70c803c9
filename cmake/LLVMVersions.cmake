# The releases of LLVM that the project is tested with: the last two. The first is
# what the toolchain takes where both are installed and none is named.
set(BLOCKSCALE_LLVM_VERSIONS 22 23)

# blockscale_check_llvm(VERSION FOLDER): refuses the LLVM of a folder where it is
# older than these releases, and warns of one that is newer.
function(blockscale_check_llvm version folder)
  list(GET BLOCKSCALE_LLVM_VERSIONS 0 oldest)
  list(GET BLOCKSCALE_LLVM_VERSIONS -1 newest)
  list(JOIN BLOCKSCALE_LLVM_VERSIONS " or " versions)
  string(REGEX MATCH "^[0-9]+" major "${version}")
  if(NOT major GREATER_EQUAL oldest)
    message(FATAL_ERROR "BlockScale needs LLVM ${versions}, but ${folder} is ${version}")
  elseif(major GREATER newest)
    message(WARNING "BlockScale is tested with LLVM ${versions}, but ${folder} is ${version}")
  endif()
endfunction()
