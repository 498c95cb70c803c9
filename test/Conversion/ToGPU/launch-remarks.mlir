// Why kernels are launched as they are: remarks of the category gpu-launch, for
// those who ask for them.
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a --remarks-filter-analyse=gpu-launch -o %t.100.mlir 2>&1 | FileCheck %s --check-prefix=SM100
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a --remarks-filter-analyse=gpu-launch -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SM90
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_80 --remarks-filter-analyse=gpu-launch -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SM80

// They change nothing, and nobody else sees them.
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a -o %t.plain.mlir 2>&1 | FileCheck %s --allow-empty --implicit-check-not=remark
// RUN: diff %t.100.mlir %t.plain.mlir
// RUN: blockscale-compile %s --target=sm_100a --emit=ptx --remarks -o %t.ptx 2>&1 | FileCheck %s --check-prefix=SM100
// RUN: blockscale-compile %s --target=sm_100a --emit=ptx -o %t.plain.ptx 2>&1 | FileCheck %s --allow-empty --implicit-check-not=remark
// RUN: diff %t.ptx %t.plain.ptx

#swizzled = #blockscale.layout<swizzle_128x4>

// The fragment is as long as memory wants it; without wide accesses it goes through shared
// memory where there is time.
// SM100: launch-remarks.mlir:[[#@LINE+9]]:{{.*}} fragment | {{.*}}a thread has 64 elements, each 3.03 bytes to move and about 5 instructions, of which the memory of B200 leaves time for 15.1; with 32 elements it would take 810 threads on each multiprocessor
// SM100: staging | {{.*}}a fragment is accessed straight from its thread: accesses have 32 bytes, a whole sector
// SM100: threads | {{.*}}Function=quantize_e4m3_rceil_bf16_k4096 | {{.*}}128 threads a block; a thread loads 128 bytes before it uses them, so 405 on each multiprocessor keep 51.8 KB under way, which the memory of B200 takes
// SM90: fragment | {{.*}}64 elements, {{.*}}about 5 instructions, {{.*}}memory of H200 leaves time for 21.8; with 32 elements it would take 569 threads
// SM90: staging | {{.*}}a fragment is accessed through shared memory
// SM80: fragment | {{.*}}32 elements, {{.*}}about 14 instructions, {{.*}}with 64 elements it would take 285 threads
// SM80: staging | {{.*}}straight from its thread: instructions for a way through shared memory would take more than a third of the time
func.func @mx(%x: tensor<?x4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}

// Rows of a tile are kept together. What is bound by its instructions has short fragments.
// SM100: fragment | {{.*}}32 elements, each 2.56 bytes to move and about 68 instructions, {{.*}}time for 12.8;
// SM100: tiles | {{.*}}a warp has 8 fragments of each of 4 rows, 32 apart
// SM90: fragment | {{.*}}32 elements, {{.*}}about 88 instructions, {{.*}}time for 18.4;
// SM90: tiles |
func.func @four_over_six(%x: tensor<?x4096xbf16>)
    -> (tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te_4over6_mse
      : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
  return %q, %s : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
}

// Runs that do not follow each other in whole vectors stay with their threads.
// SM90: fragment | {{.*}}32 elements, {{.*}}about 5 instructions
// SM90: staging | {{.*}}straight from its thread: runs of fragments do not follow each other in whole vectors
func.func @ragged(%x: tensor<?x96xbf16>)
    -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}

// Blocks of several rows.
// SM90: fragment | {{.*}}a thread has 8 rows of 16 columns, a warp 32 of 128
// SM90: threads | {{.*}}a thread loads 256 bytes before it uses them, so 143 on each multiprocessor
func.func @square(%x: tensor<256x4096xbf16>)
    -> (tensor<256x4096xf8E4M3FN>, tensor<8x128xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [32, 32] recipe rceil
      : tensor<256x4096xbf16> -> tensor<256x4096xf8E4M3FN>, tensor<8x128xf8E8M0FNU>
  return %q, %s : tensor<256x4096xf8E4M3FN>, tensor<8x128xf8E8M0FNU>
}

// Other ops say what keeps memory busy.
// SM90: threads | {{.*}}Function=amax_bf16 | {{.*}}256 threads a block; a thread loads 128 bytes
func.func @amax(%x: tensor<256x4096xbf16>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<256x4096xbf16> -> tensor<f32>
  return %a : tensor<f32>
}
