// One value a row, with a batch and without.
func.func @rows(%x: tensor<64x128xbf16>, %w: tensor<2x?x128xf32>) {
  %0 = blockscale.amax %x : tensor<64x128xbf16> -> tensor<64xf32>
  %1 = blockscale.amax %w : tensor<2x?x128xf32> -> tensor<2x?xf32>
  return
}

// One a group of rows, and of columns.
func.func @groups(%x: tensor<?x128xbf16>, %ends: tensor<?xi32>) {
  %0 = blockscale.amax %x offsets(%ends : tensor<?xi32>) : tensor<?x128xbf16> -> tensor<?xf32>
  %1 = blockscale.amax %x offsets(%ends : tensor<?xi32>) group_dim 1 : tensor<?x128xbf16> -> tensor<?xf32>
  return
}

func.func @global_scale(%a: tensor<2x?xf32>) {
  %0 = blockscale.global_scale %a recipe te_4over6_mae : tensor<2x?xf32>
  return
}

func.func @scale_sweep(%x: tensor<2x8x64xbf16>, %a: tensor<2xf32>, %h: tensor<4x16x16xf32>, %y: tensor<?x?xf32>, %s: f32) {
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  %1 = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) hessian(%h : tensor<4x16x16xf32>)
      : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  // A dynamic and a static size agree.
  %2 = blockscale.scale_sweep %y global_amax(%s : f32) : tensor<?x?xf32> -> tensor<?x4xf32>
  return
}
