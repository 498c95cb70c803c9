// An encoder layer as BERT has them, with its embedding and attention of two heads: two
// sentences of one length, which is known at run time, of hidden states of 128 numbers.
// Products of weights are MXFP8, those of attention plain f32.

#swizzled = #blockscale.layout<swizzle_128x4>
#x = affine_map<(x, y) -> (x)>
#y = affine_map<(x, y) -> (y)>
#xy = affine_map<(x, y) -> (x, y)>
#bsh = affine_map<(b, s, h) -> (b, s, h)>
#bs = affine_map<(b, s, h) -> (b, s)>
#bhst = affine_map<(b, h, s, t) -> (b, h, s, t)>
#bhs = affine_map<(b, h, s, t) -> (b, h, s)>
#bt = affine_map<(b, h, s, t) -> (b, t)>
#query = affine_map<(n, s, t, d) -> (n, s, d)>
#key = affine_map<(n, s, t, d) -> (n, t, d)>
#score = affine_map<(n, s, t, d) -> (n, s, t)>

func.func @layer(%ids: tensor<2x?xi64>, %mask: tensor<2x?xi1>, %table: tensor<60x128xf32>, %positions: tensor<40x128xf32>,
                 %g0: tensor<128xf32>, %b0: tensor<128xf32>, %g1: tensor<128xf32>, %b1: tensor<128xf32>,
                 %g2: tensor<128xf32>, %b2: tensor<128xf32>,
                 %wq: tensor<128x128xf32>, %wk: tensor<128x128xf32>, %wv: tensor<128x128xf32>, %wo: tensor<128x128xf32>,
                 %w1: tensor<256x128xf32>, %w2: tensor<128x256xf32>,
                 %bq: tensor<128xf32>, %bk: tensor<128xf32>, %bv: tensor<128xf32>, %bo: tensor<128xf32>,
                 %c1: tensor<256xf32>, %c2: tensor<128xf32>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>, tensor<2x?x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.707106781 : f32
  %width = arith.constant 128.0 : f32
  %epsilon = arith.constant 1.0e-12 : f32
  %scale = arith.constant 0.125 : f32
  %low = arith.constant -3.0e38 : f32
  %least = arith.constant 0xFF800000 : f32
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %length = tensor.dim %ids, %i1 : tensor<2x?xi64>
  %rows = arith.muli %length, %i2 : index
  %wide = tensor.empty(%rows) : tensor<?x128xf32>
  %wider = tensor.empty(%rows) : tensor<?x256xf32>
  %of_rows = tensor.empty(%rows) : tensor<?xf32>
  %row_zeros = linalg.fill ins(%zero : f32) outs(%of_rows : tensor<?xf32>) -> tensor<?xf32>
  %of_heads = tensor.empty(%length) : tensor<2x2x?x64xf32>
  %of_scores = tensor.empty(%length, %length) : tensor<4x?x?xf32>
  %of_masked = tensor.empty(%length, %length) : tensor<2x2x?x?xf32>
  %of_sums = tensor.empty(%length) : tensor<2x2x?xf32>
  %of_contexts = tensor.empty(%length) : tensor<4x?x64xf32>
  %of_tokens = tensor.empty(%length) : tensor<2x?x2x64xf32>
  %of_words = tensor.empty(%length) : tensor<2x?x128xf32>

  // Weights.
  %wq_q, %wq_s = blockscale.quantize %wq block [1, 32] recipe rceil
      : tensor<128x128xf32> -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #swizzled>
  %wk_q, %wk_s = blockscale.quantize %wk block [1, 32] recipe rceil
      : tensor<128x128xf32> -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #swizzled>
  %wv_q, %wv_s = blockscale.quantize %wv block [1, 32] recipe rceil
      : tensor<128x128xf32> -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #swizzled>
  %wo_q, %wo_s = blockscale.quantize %wo block [1, 32] recipe rceil
      : tensor<128x128xf32> -> tensor<128x128xf8E4M3FN>, tensor<128x4xf8E8M0FNU, #swizzled>
  %w1_q, %w1_s = blockscale.quantize %w1 block [1, 32] recipe rceil
      : tensor<256x128xf32> -> tensor<256x128xf8E4M3FN>, tensor<256x4xf8E8M0FNU, #swizzled>
  %w2_q, %w2_s = blockscale.quantize %w2 block [1, 32] recipe rceil
      : tensor<128x256xf32> -> tensor<128x256xf8E4M3FN>, tensor<128x8xf8E8M0FNU, #swizzled>

  // The embeddings of words and places.
  %words = linalg.generic {indexing_maps = [#bs, #bsh], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<2x?xi64>) outs(%of_words : tensor<2x?x128xf32>) {
  ^bb0(%id: i64, %o: f32):
    %row = arith.index_cast %id : i64 to index
    %place = linalg.index 1 : index
    %column = linalg.index 2 : index
    %word = tensor.extract %table[%row, %column] : tensor<60x128xf32>
    %position = tensor.extract %positions[%place, %column] : tensor<40x128xf32>
    %v = arith.addf %word, %position : f32
    linalg.yield %v : f32
  } -> tensor<2x?x128xf32>
  %embedded = tensor.collapse_shape %words [[0, 1], [2]] : tensor<2x?x128xf32> into tensor<?x128xf32>

  // input: a norm of rows, with its gain and bias.
  %input_sum = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%embedded : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %input_centered = linalg.generic {indexing_maps = [#xy, #x, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%embedded, %input_sum : tensor<?x128xf32>, tensor<?xf32>) outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %m = arith.divf %s, %width : f32
    %v = arith.subf %a, %m : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %input_squares = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%input_centered : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %v = arith.addf %o, %q : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %input = linalg.generic {indexing_maps = [#xy, #x, #y, #y, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%input_centered, %input_squares, %g0, %b0 : tensor<?x128xf32>, tensor<?xf32>, tensor<128xf32>, tensor<128xf32>)
      outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %gain: f32, %bias: f32, %o: f32):
    %variance = arith.divf %s, %width : f32
    %safe = arith.addf %variance, %epsilon : f32
    %factor = math.rsqrt %safe : f32
    %u = arith.mulf %a, %factor : f32
    %w = arith.mulf %u, %gain : f32
    %v = arith.addf %w, %bias : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %input_q, %input_s = blockscale.quantize %input block [1, 32] recipe rceil
      : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>

  // Attention.
  %query = blockscale.scaled_mm %input_q, %wq_q scales(%input_s, %wq_s) block [1, 32] bias(%bq : tensor<128xf32>)
      : tensor<?x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>,
        tensor<128x4xf8E8M0FNU, #swizzled> -> tensor<?x128xf32>
  %key = blockscale.scaled_mm %input_q, %wk_q scales(%input_s, %wk_s) block [1, 32] bias(%bk : tensor<128xf32>)
      : tensor<?x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>,
        tensor<128x4xf8E8M0FNU, #swizzled> -> tensor<?x128xf32>
  %value = blockscale.scaled_mm %input_q, %wv_q scales(%input_s, %wv_s) block [1, 32] bias(%bv : tensor<128xf32>)
      : tensor<?x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>,
        tensor<128x4xf8E8M0FNU, #swizzled> -> tensor<?x128xf32>
  %query_split = tensor.expand_shape %query [[0, 1], [2, 3]] output_shape [2, %length, 2, 64]
      : tensor<?x128xf32> into tensor<2x?x2x64xf32>
  %query_turned = linalg.transpose ins(%query_split : tensor<2x?x2x64xf32>) outs(%of_heads : tensor<2x2x?x64xf32>)
      permutation = [0, 2, 1, 3]
  %query_heads = tensor.collapse_shape %query_turned [[0, 1], [2], [3]] : tensor<2x2x?x64xf32> into tensor<4x?x64xf32>
  %key_split = tensor.expand_shape %key [[0, 1], [2, 3]] output_shape [2, %length, 2, 64]
      : tensor<?x128xf32> into tensor<2x?x2x64xf32>
  %key_turned = linalg.transpose ins(%key_split : tensor<2x?x2x64xf32>) outs(%of_heads : tensor<2x2x?x64xf32>)
      permutation = [0, 2, 1, 3]
  %key_heads = tensor.collapse_shape %key_turned [[0, 1], [2], [3]] : tensor<2x2x?x64xf32> into tensor<4x?x64xf32>
  %value_split = tensor.expand_shape %value [[0, 1], [2, 3]] output_shape [2, %length, 2, 64]
      : tensor<?x128xf32> into tensor<2x?x2x64xf32>
  %value_turned = linalg.transpose ins(%value_split : tensor<2x?x2x64xf32>) outs(%of_heads : tensor<2x2x?x64xf32>)
      permutation = [0, 2, 1, 3]
  %value_heads = tensor.collapse_shape %value_turned [[0, 1], [2], [3]] : tensor<2x2x?x64xf32> into tensor<4x?x64xf32>
  %score_zeros = linalg.fill ins(%zero : f32) outs(%of_scores : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %scores = linalg.generic {indexing_maps = [#query, #key, #score],
                            iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%query_heads, %key_heads : tensor<4x?x64xf32>, tensor<4x?x64xf32>) outs(%score_zeros : tensor<4x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %v = arith.addf %o, %p : f32
    linalg.yield %v : f32
  } -> tensor<4x?x?xf32>
  %scores_of = tensor.expand_shape %scores [[0, 1], [2], [3]] output_shape [2, 2, %length, %length]
      : tensor<4x?x?xf32> into tensor<2x2x?x?xf32>
  %masked = linalg.generic {indexing_maps = [#bhst, #bt, #bhst],
                            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scores_of, %mask : tensor<2x2x?x?xf32>, tensor<2x?xi1>) outs(%of_masked : tensor<2x2x?x?xf32>) {
  ^bb0(%a: f32, %keep: i1, %o: f32):
    %scaled = arith.mulf %a, %scale : f32
    %v = arith.select %keep, %scaled, %low : f32
    linalg.yield %v : f32
  } -> tensor<2x2x?x?xf32>
  %least_of = linalg.fill ins(%least : f32) outs(%of_sums : tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %most = linalg.generic {indexing_maps = [#bhst, #bhs], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%masked : tensor<2x2x?x?xf32>) outs(%least_of : tensor<2x2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.maximumf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<2x2x?xf32>
  %powers = linalg.generic {indexing_maps = [#bhst, #bhs, #bhst],
                            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%masked, %most : tensor<2x2x?x?xf32>, tensor<2x2x?xf32>) outs(%of_masked : tensor<2x2x?x?xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32
  } -> tensor<2x2x?x?xf32>
  %zeros_of = linalg.fill ins(%zero : f32) outs(%of_sums : tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %sums = linalg.generic {indexing_maps = [#bhst, #bhs], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%powers : tensor<2x2x?x?xf32>) outs(%zeros_of : tensor<2x2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<2x2x?xf32>
  %weights = linalg.generic {indexing_maps = [#bhst, #bhs, #bhst],
                             iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%powers, %sums : tensor<2x2x?x?xf32>, tensor<2x2x?xf32>) outs(%of_masked : tensor<2x2x?x?xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %v = arith.divf %a, %s : f32
    linalg.yield %v : f32
  } -> tensor<2x2x?x?xf32>
  %weights_of = tensor.collapse_shape %weights [[0, 1], [2], [3]] : tensor<2x2x?x?xf32> into tensor<4x?x?xf32>
  %context_zeros = linalg.fill ins(%zero : f32) outs(%of_contexts : tensor<4x?x64xf32>) -> tensor<4x?x64xf32>
  %contexts = linalg.batch_matmul ins(%weights_of, %value_heads : tensor<4x?x?xf32>, tensor<4x?x64xf32>)
      outs(%context_zeros : tensor<4x?x64xf32>) -> tensor<4x?x64xf32>
  %contexts_of = tensor.expand_shape %contexts [[0, 1], [2], [3]] output_shape [2, 2, %length, 64]
      : tensor<4x?x64xf32> into tensor<2x2x?x64xf32>
  %tokens = linalg.transpose ins(%contexts_of : tensor<2x2x?x64xf32>) outs(%of_tokens : tensor<2x?x2x64xf32>)
      permutation = [0, 2, 1, 3]
  %context = tensor.collapse_shape %tokens [[0, 1], [2, 3]] : tensor<2x?x2x64xf32> into tensor<?x128xf32>
  %context_q, %context_s = blockscale.quantize %context block [1, 32] recipe rceil
      : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>
  %attended = blockscale.scaled_mm %context_q, %wo_q scales(%context_s, %wo_s) block [1, 32] bias(%bo : tensor<128xf32>)
      : tensor<?x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>,
        tensor<128x4xf8E8M0FNU, #swizzled> -> tensor<?x128xf32>

  // middle: a norm of rows, with its gain and bias.
  %middle_x = linalg.generic {indexing_maps = [#xy, #xy, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%attended, %input : tensor<?x128xf32>, tensor<?x128xf32>) outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %r: f32, %o: f32):
    %v = arith.addf %a, %r : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %middle_sum = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%middle_x : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %middle_centered = linalg.generic {indexing_maps = [#xy, #x, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%middle_x, %middle_sum : tensor<?x128xf32>, tensor<?xf32>) outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %m = arith.divf %s, %width : f32
    %v = arith.subf %a, %m : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %middle_squares = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%middle_centered : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %v = arith.addf %o, %q : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %middle = linalg.generic {indexing_maps = [#xy, #x, #y, #y, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%middle_centered, %middle_squares, %g1, %b1 : tensor<?x128xf32>, tensor<?xf32>, tensor<128xf32>, tensor<128xf32>)
      outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %gain: f32, %bias: f32, %o: f32):
    %variance = arith.divf %s, %width : f32
    %safe = arith.addf %variance, %epsilon : f32
    %factor = math.rsqrt %safe : f32
    %u = arith.mulf %a, %factor : f32
    %w = arith.mulf %u, %gain : f32
    %v = arith.addf %w, %bias : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %middle_q, %middle_s = blockscale.quantize %middle block [1, 32] recipe rceil
      : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>

  // The feed-forward network.
  %hidden = blockscale.scaled_mm %middle_q, %w1_q scales(%middle_s, %w1_s) block [1, 32] bias(%c1 : tensor<256xf32>)
      : tensor<?x128xf8E4M3FN>, tensor<256x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>,
        tensor<256x4xf8E8M0FNU, #swizzled> -> tensor<?x256xf32>
  %active = linalg.generic {indexing_maps = [#xy, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%hidden : tensor<?x256xf32>) outs(%wider : tensor<?x256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = arith.mulf %a, %root : f32
    %e = math.erf %u : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %a, %half : f32
    %v = arith.mulf %h, %p : f32
    linalg.yield %v : f32
  } -> tensor<?x256xf32>
  %active_q, %active_s = blockscale.quantize %active block [1, 32] recipe rceil
      : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU, #swizzled>
  %forward = blockscale.scaled_mm %active_q, %w2_q scales(%active_s, %w2_s) block [1, 32] bias(%c2 : tensor<128xf32>)
      : tensor<?x256xf8E4M3FN>, tensor<128x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU, #swizzled>,
        tensor<128x8xf8E8M0FNU, #swizzled> -> tensor<?x128xf32>

  // output: a norm of rows, with its gain and bias.
  %output_x = linalg.generic {indexing_maps = [#xy, #xy, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%forward, %middle : tensor<?x128xf32>, tensor<?x128xf32>) outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %r: f32, %o: f32):
    %v = arith.addf %a, %r : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %output_sum = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%output_x : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %output_centered = linalg.generic {indexing_maps = [#xy, #x, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%output_x, %output_sum : tensor<?x128xf32>, tensor<?xf32>) outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %m = arith.divf %s, %width : f32
    %v = arith.subf %a, %m : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %output_squares = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%output_centered : tensor<?x128xf32>) outs(%row_zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %v = arith.addf %o, %q : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %output = linalg.generic {indexing_maps = [#xy, #x, #y, #y, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%output_centered, %output_squares, %g2, %b2 : tensor<?x128xf32>, tensor<?xf32>, tensor<128xf32>, tensor<128xf32>)
      outs(%wide : tensor<?x128xf32>) {
  ^bb0(%a: f32, %s: f32, %gain: f32, %bias: f32, %o: f32):
    %variance = arith.divf %s, %width : f32
    %safe = arith.addf %variance, %epsilon : f32
    %factor = math.rsqrt %safe : f32
    %u = arith.mulf %a, %factor : f32
    %w = arith.mulf %u, %gain : f32
    %v = arith.addf %w, %bias : f32
    linalg.yield %v : f32
  } -> tensor<?x128xf32>
  %result = tensor.expand_shape %output [[0, 1], [2]] output_shape [2, %length, 128]
      : tensor<?x128xf32> into tensor<2x?x128xf32>
  return %input_q, %input_s, %result : tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU, #swizzled>, tensor<2x?x128xf32>
}
