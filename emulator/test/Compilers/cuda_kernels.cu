// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA C++ whose PTX nvcc writes: each kernel takes 32-bit words and leaves
// 32-bit words, so that one comparison serves them all. Every result is exact
// or correctly rounded; nothing depends on the order of threads.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace cg = cooperative_groups;

struct Polynomial {
  float coefficients[4];
  int degree;
};

__constant__ float table[8] = {1.f, -2.5f, 3e-10f, 4.f, 0.f, -0.f, 7.f, 1e30f};
__device__ unsigned counter = 5;

__device__ __noinline__ float evaluate(Polynomial p, float x) {
  float sum = 0;
  for (int i = p.degree; i >= 0; --i)
    sum = __fmaf_rn(sum, x, p.coefficients[i]);
  return sum;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ unsigned rotateThree(unsigned x) {
  return __funnelshift_l(x, x, 3);
}
__device__ __noinline__ unsigned addTen(unsigned x) { return x + 10; }

/// Calls, recursion, function pointers, a switch, local arrays.
extern "C" __global__ void control(const unsigned *in, unsigned *out, int n,
                                   const __grid_constant__ Polynomial p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x = in[i];
  unsigned (*functions[2])(unsigned) = {rotateThree, addTen};
  unsigned y = functions[x & 1](x);
  switch (x % 7) {
  case 0:
    y += 3;
    break;
  case 1:
    y ^= ackermann(2, x % 5);
    break;
  case 2:
    for (unsigned k = 0; k < (x & 15); ++k) {
      if ((y ^ k) % 11 == 3)
        break;
      y = y * 5 + k;
    }
    break;
  case 3:
    y = __float_as_uint(evaluate(p, (x & 255) * 0.25f));
    break;
  case 4:
    y = ~y;
    break;
  case 5: {
    unsigned local[16];
    for (unsigned k = 0; k < 16; ++k)
      local[(k * 7 + x) & 15] = k * y;
    y = local[x >> 3 & 15];
    break;
  }
  default:
    y = __float_as_uint(table[x & 7]);
  }
  out[i] = y;
}

/// Integer instructions that have an intrinsic, and 64-bit arithmetic.
extern "C" __global__ void integers(const unsigned *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x = in[i], y = in[(i + 1) % n], z = in[(i + 2) % n];
  unsigned long long wide = (unsigned long long)x << 32 | y;
  unsigned h = __umulhi(x, y) + __popc(x) + __clz(y) + __brev(z) + __ffs(z);
  h = h * 31 + __byte_perm(x, y, z & 0x7777);
  h = h * 31 + __funnelshift_rc(x, y, z & 63) + __dp4a((int)x, (int)y, (int)z);
  h = h * 31 + __sad((int)x, (int)y, z) + __usad(x, y, z) + __vadd2(x, y);
  h = h * 31 + (unsigned)(wide / (z | 1)) + (unsigned)(wide % (z | 1));
  h = h * 31 + (unsigned)((long long)wide / (int)(z | 1)) + __mul24(x, y);
  h = h * 31 + (unsigned)__umul64hi(wide, wide) + (unsigned)__popcll(wide);
  h = h * 31 + (unsigned)(wide >> (z & 63)) + (unsigned)(wide << (z & 63));
  h = h * 31 + (int)x / (int)((y & 0xFF) + 1) + min((int)x, (int)y) + max(x, z);
  out[i] = h;
}

/// Floats of every width, directed roundings, conversions.
extern "C" __global__ void floats(const unsigned *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float a = __uint_as_float(in[i]), b = __uint_as_float(in[(i + 1) % n]);
  auto mix = [h = 0u](unsigned bits) mutable { return h = h * 31 + bits; };
  auto f = [&](float v) { mix(__isnanf(v) ? 0x7FFFFFFF : __float_as_uint(v)); };
  f(__fadd_rn(a, b)), f(__fadd_rz(a, b)), f(__fadd_ru(a, b)), f(__fadd_rd(a, b));
  f(__fmul_rz(a, b)), f(__fmaf_rd(a, b, a)), f(__fdiv_rn(a, b));
  f(__fdiv_ru(a, b)), f(__fsqrt_rn(fabsf(a))), f(__fsqrt_rd(fabsf(b)));
  f(__frcp_rn(a)), f(fminf(a, b)), f(fmaxf(a, b)), f(copysignf(a, b));
  f(truncf(a)), f(rintf(b)), f(floorf(a));
  double d = (double)a * b;
  f((float)(d / 3.0 + sqrt(fabs(d)))), f(__double2float_ru(d));
  mix(__float2int_rz(a)), mix(__float2uint_rn(b)), mix(__float2int_ru(b));
  f(__int2float_rd((int)in[i])), f((float)(long long)d);
  __half2 h = __hfma2(__floats2half2_rn(a, b), __float2half2_rn(0.5f),
                      __floats2half2_rn(b, a));
  f(__low2float(h)), f(__high2float(h));
  __nv_bfloat162 g = __hmul2(__floats2bfloat162_rn(a, b),
                             __float2bfloat162_rn(1.5f));
  f(__low2float(g)), f(__high2float(g));
  mix(__nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, __NV_E4M3));
  mix(__nv_cvt_float2_to_fp8x2(make_float2(b, a), __NV_SATFINITE, __NV_E5M2));
  out[i] = mix(0);
}

/// Shuffles, votes, matches and reductions of a warp.
extern "C" __global__ void warps(const unsigned *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = in[i % n], lane = threadIdx.x & 31;
  unsigned h = __shfl_xor_sync(~0u, x, 5) * 3 + __shfl_down_sync(~0u, x, 3, 16);
  h += __shfl_up_sync(~0u, x, 2) * 7 + __shfl_sync(~0u, x, x & 31, 8);
  h ^= __ballot_sync(~0u, x & 4) + __match_any_sync(~0u, x & 7);
  h += __reduce_add_sync(~0u, x) ^ __reduce_max_sync(~0u, x);
  h += __reduce_xor_sync(~0u, x);
  if (lane < 20) {
    auto some = cg::coalesced_threads();
    h += some.shfl(x, some.size() - 1) + some.thread_rank();
    h += __any_sync(__activemask(), x == 3) + __all_sync(0xFFFFF, x > 2);
  }
  __syncwarp();
  for (int step = 16; step; step /= 2)
    h += __shfl_xor_sync(~0u, h, step);
  if (i < n)
    out[i] = h;
}

/// Shared memory, atomics, and a last block that sums up.
extern "C" __global__ void blocks(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned histogram[64];
  extern __shared__ unsigned scratch[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned t = threadIdx.x;
  if (t < 64)
    histogram[t] = 0;
  __syncthreads();
  unsigned x = i < n ? in[i] : 0;
  atomicAdd(&histogram[x & 63], 1);
  scratch[t] = x;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step; step /= 2) {
    if (t < step)
      scratch[t] = max(scratch[t], scratch[t + step]);
    __syncthreads();
  }
  if (t < 64)
    atomicAdd(&out[t], histogram[t]);
  if (t == 0) {
    atomicMax(&out[64], scratch[0]);
    atomicXor(&out[65], scratch[0]);
    __threadfence();
    if (atomicInc(&counter, 5 + gridDim.x - 1) == 5 + gridDim.x - 1)
      out[66] = atomicCAS(&out[64], 0, 1) + 1;
  }
  if (__syncthreads_count(x & 1) > 3 && t == 0)
    atomicOr(&out[67], 1u << (blockIdx.x & 31));
}

/// Bulk and small asynchronous copies behind mbarriers, by CTAs of a cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    copies(const unsigned *in, unsigned *out) {
  __shared__ alignas(128) unsigned tile[256], small[128];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned t = threadIdx.x;
  auto address = [](const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
  };
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
        address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  for (unsigned phase = 0; phase < 3; ++phase) {
    const unsigned *from = in + (blockIdx.x + 2 * phase) * 256;
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::
                       "r"(address(&barrier)));
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                   "bytes [%0], [%1], 1024, [%2];" ::"r"(address(tile)),
                   "l"(from), "r"(address(&barrier)));
    }
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                     address(&small[t])),
                 "l"(from + 2 * t));
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;");
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 "
                 "p, [%0], %1; @!p bra WAIT; }" ::"r"(address(&barrier)),
                 "r"(phase & 1));
    __syncthreads();
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    const unsigned *peer =
        cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
    unsigned sum = peer[t] + tile[255 - t] * 3 + small[127 - t];
    atomicAdd(&out[blockIdx.x * 128 + t], sum);
    cluster.sync();
  }
}

/// The tensor cores of a warp: small integers in bf16 and in FP8.
extern "C" __global__ void matrices(const unsigned *in, unsigned *out) {
  __shared__ alignas(16) unsigned tile[128];
  unsigned lane = threadIdx.x;
  for (unsigned k = 0; k < 4; ++k)
    tile[lane * 4 + k] = in[lane * 4 + k];
  __syncwarp();
  unsigned a[4], b[2];
  float d[4] = {0, 1, 2, 3};
  unsigned row = (unsigned)__cvta_generic_to_shared(&tile[lane * 4]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(row));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  for (unsigned k = 0; k < 4; ++k)
    out[lane * 4 + k] = __float_as_uint(d[k]);
  // The same bits as E4M3: 4, 8 and 0 in the exponents of small integers.
  float e[4] = {0, 0, 0, 0};
  for (unsigned k = 0; k < 4; ++k)
    a[k] = (a[k] & 0x03030303) | 0x38383838;
  for (unsigned k = 0; k < 2; ++k)
    b[k] = (b[k] & 0x83838383) | 0x38383838;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  for (unsigned k = 0; k < 4; ++k)
    out[128 + lane * 4 + k] = __float_as_uint(e[k]);
}
