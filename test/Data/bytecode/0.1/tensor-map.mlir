func.func @tensor_map(%p: !llvm.ptr<1>, %n: index) -> (!llvm.ptr, !llvm.ptr, !llvm.ptr) {
  %0 = blockscale.tensor_map %p dims[%n, %n] strides[%n] box [128, 256] element uint8 swizzle 128
  %1 = blockscale.tensor_map %p dims[%n] box [256] element uint8 swizzle 0
  %2 = blockscale.tensor_map %p dims[%n, %n, %n] strides[%n, %n] box [128, 128, 1] element u4_padded swizzle 128
  return %0, %1, %2 : !llvm.ptr, !llvm.ptr, !llvm.ptr
}
