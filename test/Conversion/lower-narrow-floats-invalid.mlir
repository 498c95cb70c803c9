// RUN: blockscale-opt %s --split-input-file --verify-diagnostics --blockscale-lower-narrow-floats

// Types that the project has no codec of.
func.func @other_types(%x: f8E4M3B11FNUZ) -> f32 {
  // expected-error @below {{expected narrow floats of f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2 or f8E8M0FNU, but got 'f8E4M3B11FNUZ'}}
  %y = arith.extf %x : f8E4M3B11FNUZ to f32
  return %y : f32
}

// -----

// Sums of vectors, which have an order of their own.
func.func @sum(%x: vector<8xf8E4M3FN>) -> f8E4M3FN {
  // expected-error @below {{expected sums and products of vectors of f16, bf16, f32 or f64, but got 'vector<8xf8E4M3FN>'}}
  %y = vector.reduction <add>, %x : vector<8xf8E4M3FN> into f8E4M3FN
  return %y : f8E4M3FN
}

// -----

// Floats that f32 does not stand for.
func.func @wide_floats(%x: f128, %y: f8E5M2) -> (f8E4M3FN, f80) {
  // expected-error @below {{expected casts of narrow floats from and to bf16, f16, f32 or f64, but got 'f128'}}
  %a = arith.truncf %x : f128 to f8E4M3FN
  // expected-error @below {{expected casts of narrow floats from and to bf16, f16, f32 or f64, but got 'f80'}}
  %b = arith.extf %y : f8E5M2 to f80
  return %a, %b : f8E4M3FN, f80
}

// -----

func.func @wide_integers(%x: i128) -> f8E8M0FNU {
  // expected-error @below {{expected casts of narrow floats from and to integers of at most 64 bits, but got 'i128'}}
  %y = arith.uitofp %x : i128 to f8E8M0FNU
  return %y : f8E8M0FNU
}

// -----

func.func @scalable(%x: vector<[4]xf8E5M2>) -> vector<[4]xf32> {
  // expected-error @below {{expected vectors of narrow floats of a fixed size, but got 'vector<[4]xf8E5M2>'}}
  %y = arith.extf %x : vector<[4]xf8E5M2> to vector<[4]xf32>
  return %y : vector<[4]xf32>
}
