// Tiles each quantize in loops, with the producer of its x.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %quantize = transform.structured.match ops{["blockscale.quantize"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.fuse %quantize tile_sizes [32, 64] interchange [0, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
