// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// The offsets of a grouped layout, which its type does not tell.

#groups = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
#swizzled = #blockscale.layout<swizzle_128x4>

// The same value, behind casts too; equal constants and equal ops, which are not
// merged yet; scales of unknown origin.
func.func @allowed(%x: tensor<96x64xbf16>, %w: tensor<2x48x64xf8E4M3FN>, %sw: tensor<2x48x2xf8E8M0FNU, #swizzled>,
                   %o: tensor<2xi32>, %n: tensor<?xi32>, %s: tensor<96x2xf8E8M0FNU, #groups>) {
  %0:2 = blockscale.quantize %x block [1, 32] offsets(%o : tensor<2xi32>)
      : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #groups>
  %1 = blockscale.scaled_grouped_mm %0#0, %w offsets(%o) scales(%0#1, %sw) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<96x2xf8E8M0FNU, #groups>, tensor<2x48x2xf8E8M0FNU, #swizzled> -> tensor<96x48xf32>
  %c = tensor.cast %n : tensor<?xi32> to tensor<2xi32>
  %d = tensor.cast %n : tensor<?xi32> to tensor<2xi32>
  %2 = blockscale.swizzle %s offsets(%c : tensor<2xi32>) : tensor<96x2xf8E8M0FNU, #groups> -> tensor<96x2xf8E8M0FNU>
  %3 = blockscale.swizzle %2 offsets(%c : tensor<2xi32>) : tensor<96x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU, #groups>
  %4 = blockscale.swizzle %3 offsets(%d : tensor<2xi32>) : tensor<96x2xf8E8M0FNU, #groups> -> tensor<96x2xf8E8M0FNU>
  %k = arith.constant dense<[32, 96]> : tensor<2xi32>
  %l = arith.constant dense<[32, 96]> : tensor<2xi32>
  %5 = blockscale.swizzle %2 offsets(%k : tensor<2xi32>) : tensor<96x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU, #groups>
  %6 = blockscale.swizzle %5 offsets(%l : tensor<2xi32>) : tensor<96x2xf8E8M0FNU, #groups> -> tensor<96x2xf8E8M0FNU>
  return
}

// -----

#groups = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
#swizzled = #blockscale.layout<swizzle_128x4>

// Tiles of other groups are at other places.
func.func @product(%x: tensor<96x64xbf16>, %w: tensor<2x48x64xf8E4M3FN>, %sw: tensor<2x48x2xf8E8M0FNU, #swizzled>,
                   %o: tensor<2xi32>, %p: tensor<2xi32>) {
  // expected-note @below {{the layout was made here}}
  %0:2 = blockscale.quantize %x block [1, 32] offsets(%o : tensor<2xi32>)
      : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #groups>
  // expected-error @below {{'blockscale.scaled_grouped_mm' op expected offsets to be those that the layout of scale_a was made with, but got other ones}}
  %1 = blockscale.scaled_grouped_mm %0#0, %w offsets(%p) scales(%0#1, %sw) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<96x2xf8E8M0FNU, #groups>, tensor<2x48x2xf8E8M0FNU, #swizzled> -> tensor<96x48xf32>
  return
}

// -----

#groups = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>

// So when a layout is undone.
func.func @swizzle(%s: tensor<96x2xf8E8M0FNU>) {
  %o = arith.constant dense<[32, 96]> : tensor<2xi32>
  %p = arith.constant dense<[64, 96]> : tensor<2xi32>
  // expected-note @below {{the layout was made here}}
  %0 = blockscale.swizzle %s offsets(%o : tensor<2xi32>) : tensor<96x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU, #groups>
  // expected-error @below {{'blockscale.swizzle' op expected offsets to be those that the layout of source was made with, but got other ones}}
  %1 = blockscale.swizzle %0 offsets(%p : tensor<2xi32>) : tensor<96x2xf8E8M0FNU, #groups> -> tensor<96x2xf8E8M0FNU>
  return
}
