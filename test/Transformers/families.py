# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of transformers with random weights, checkpoints of them in each layout, and the
same models with plain weights that have the values of the codes."""

import contextlib
import copy
import fnmatch
import io
import json
import re
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.quantizers import auto

import blockscale.checkpoint
import blockscale.transformers
from blockscale.torch._modules import QuantizedWeight
from blockscale.transformers import BlockScaleConfig

_SIZES = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, head_dim=32, vocab_size=160, max_position_embeddings=64,
              pad_token_id=0, bos_token_id=1, eos_token_id=None)
_EXPERTS = dict(moe_intermediate_size=128, num_experts_per_tok=2)
#: Configuration and model of each family, and what their sizes are beside or instead of _SIZES.
FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"tie_word_embeddings": True}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {"query_pre_attn_scalar": 32}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {}),
    "opt": ("OPTConfig", "OPTForCausalLM", {"ffn_dim": 256, "word_embed_proj_dim": 128}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {}),
    "t5": ("T5Config", "T5ForConditionalGeneration", {
        "d_model": 128, "d_ff": 256, "d_kv": 32, "num_layers": 2, "num_heads": 4,
        "decoder_start_token_id": 0}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {"num_local_experts": 4}),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {"num_experts": 4, **_EXPERTS}),
    "deepseek_v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM", {
        "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
        "kv_lora_rank": 32, "q_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
        "head_dim": 16, "v_head_dim": 32, "num_key_value_heads": 4, **_EXPERTS}),
}
#: How far logits may be from those of plain weights with the same values, if activations are plain:
#: these are rounded to bf16, where values of NVFP4 have more bits. Those of MX formats have not.
_ROUNDED, _EXACT = 0.04, 0.005
#: Layouts: the family of files, the rule of a policy, and the bound of logits.
LAYOUTS = {
    "modelopt-nvfp4": ("modelopt", {"format": "nvfp4", "weight_only": True}, _ROUNDED),
    "modelopt-mxfp8": ("modelopt", {"format": "mxfp8"}, _EXACT),
    "packed-nvfp4": ("compressed-tensors", {"format": "nvfp4", "weight_only": True}, _ROUNDED),
    "packed-mxfp4": ("compressed-tensors", {"format": "mxfp4", "weight_only": True}, _EXACT),
    "fp8-blocks": ("fp8-blocks", None, _EXACT),
    "blockscale": ("blockscale", {"format": "nvfp4", "weight_only": True}, _ROUNDED),
}


def choose_models(names, patterns):
    """The names FAMILY/LAYOUT that are of a pattern, with both, of families of these names.

    Raises: SystemExit for a pattern that none is of.
    """
    models = [(f"{family}/{layout}", family, layout) for family in names for layout in LAYOUTS]
    chosen = set()
    for pattern in patterns:
        found = fnmatch.filter([name for name, _, _ in models], pattern)
        if not found:
            sys.exit("--only: expected patterns of FAMILY/LAYOUT, as 'llama/*', but got "
                     f"'{pattern}', which none is of")
        chosen.update(found)
    return [each for each in models if each[0] in chosen]


@contextlib.contextmanager
def quiet():
    """Without transformers' bars and remarks."""
    transformers.utils.logging.disable_progress_bar()
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        transformers.logging.set_verbosity(before)


@contextlib.contextmanager
def taken_over():
    """Where this package loads what transformers has quantizers for."""
    mappings = auto.AUTO_QUANTIZER_MAPPING, auto.AUTO_QUANTIZATION_CONFIG_MAPPING
    before = [dict(each) for each in mappings]
    blockscale.transformers.take_over()
    try:
        yield
    finally:
        for mapping, old in zip(mappings, before):
            mapping.update(old)


def save_plain(family, folder, **sizes):
    """Writes a plain checkpoint, in bf16, some channels of whose weights lie far out."""
    config, model, own = FAMILIES[family]
    torch.manual_seed(0)
    made = getattr(transformers, model)(getattr(transformers, config)(**{**_SIZES, **own, **sizes}))
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
                parameter.mul_(torch.where(torch.rand(parameter.shape[-1]) < 1 / 16, 4.0, 1.0))
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    with quiet():
        made.bfloat16().eval().save_pretrained(folder)
    return folder


def load(folder, dtype=torch.bfloat16, **options):
    """A model of the class that its config names."""
    config = json.loads((Path(folder) / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    with quiet():
        return kind.from_pretrained(folder, dtype=dtype, **options).requires_grad_(False)


def quantize(plain, folder, layout):
    """The checkpoint in a layout: FP8 by formulas of this file, what the modules have by
    save_pretrained(), and all others by the package's writer of files."""
    family, rule, _ = LAYOUTS[layout]
    if layout == "fp8-blocks":
        return write_fp8(plain, folder)
    policy = {"version": 1, "rules": [{**rule, "match": {"location": r"*layer*"}},
                                      {**rule, "match": {"location": r"*block*"}}]}
    if layout == "blockscale":
        with quiet():
            load(plain, quantization_config=BlockScaleConfig(policy)).save_pretrained(folder)
        return folder
    blockscale.checkpoint.quantize(plain, folder, policy, layout=family)
    return folder


def is_layer(name, tensor):
    """Whether a tensor of a plain checkpoint is the weight of a layer that is quantized: of those
    of blocks, and no table and no router."""
    return (tensor.dim() == 2 and re.search(r"layer|block", name) is not None
            and re.search(r"embed|relative|gate\.weight|e_score", name) is None)


def quantize_fp8(weight):
    """Codes and scales of blocks of 128 x 128."""
    n, k = weight.shape
    padded = torch.zeros(-(-n // 128) * 128, -(-k // 128) * 128)
    padded[:n, :k] = weight
    blocks = padded.view(padded.shape[0] // 128, 128, -1, 128)
    scales = blocks.abs().amax((1, 3)).clamp(min=1e-12) / 448
    codes = (blocks / scales[:, None, :, None]).view(padded.shape)[:n, :k]
    return codes.to(torch.float8_e4m3fn), scales


def write_fp8(plain, folder):
    Path(folder).mkdir()
    tensors, left = {}, []
    for name, tensor in read_tensors(plain).items():
        if not is_layer(name, tensor):
            tensors[name] = tensor
            left += [name.removesuffix(".weight")] * (tensor.dim() == 2)
            continue
        tensors[name], tensors[f"{name}_scale_inv"] = quantize_fp8(tensor.float())
    write_tensors(tensors, folder)
    config = json.loads((Path(plain) / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
        "modules_to_not_convert": left}
    (Path(folder) / "config.json").write_text(json.dumps(config))
    return folder


def decode(folder, made):
    """A plain checkpoint of the values of a quantized one."""
    if read_method(folder) == "blockscale":
        return decode_own(folder, made)
    blockscale.checkpoint.convert(folder, made, to="plain")
    return made


def read_method(folder):
    config = json.loads((Path(folder) / "config.json").read_text())
    return config["quantization_config"]["quant_method"]


def decode_own(folder, made):
    """The same of a file with the tensors of our modules: values of the modules themselves, which
    the tests of quantize_ hold against others."""
    model = load(folder)
    config = copy.deepcopy(model.config)
    del config.quantization_config
    plain = type(model)(config).bfloat16()
    state = {name: tensor for name, tensor in model.state_dict().items()
             if name in plain.state_dict()}
    for name, module in model.named_modules():
        if isinstance(module, QuantizedWeight):
            values = module.weight.dequantize(torch.bfloat16)
            if module.is_stack:
                experts = plain.get_submodule(name.rpartition(".")[0])
                state[name] = values.transpose(1, 2) if experts.is_transposed else values
            else:
                state[f"{name}.weight"] = values
    plain.load_state_dict(state)
    with quiet():
        plain.save_pretrained(made)
    return made


def make_checkpoint(family, layout, folder):
    """A quantized checkpoint, and in "plain-values" one with its values."""
    save_plain(family, folder / "plain")
    quantize(folder / "plain", folder / "quantized", layout)
    decode(folder / "quantized", folder / "plain-values")


def make_inputs(family, rows=2, length=9):
    torch.manual_seed(1)
    ids = torch.randint(2, 160, (rows, length))
    found = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if family == "t5":
        found["decoder_input_ids"] = ids[:, :3]
    return found


def read_tensors(folder):
    found = {}
    for file in sorted(Path(folder).glob("*.safetensors")):
        found.update(load_file(file))
    return found


def write_tensors(tensors, folder):
    """In the place of those of a folder with one file."""
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
              Path(folder) / "model.safetensors", metadata={"format": "pt"})


def find_difference(before, after):
    """The names of tensors that are not the same in two checkpoints."""
    names = {*before, *after}
    return sorted(name for name in names if name not in before or name not in after
                  or before[name].dtype != after[name].dtype
                  or not torch.equal(before[name].view(torch.uint8) if before[name].dim()
                                     else before[name], after[name].view(torch.uint8)
                                     if after[name].dim() else after[name]))


def get_ratio(found, expected):
    """How far the logits of a token are off, in the median of all: a token of another expert, where
    two are nearly as good, has others."""
    found, expected = found.float(), expected.float()
    return ((found - expected).norm(dim=-1) / expected.norm(dim=-1)).median().item()


__all__ = ["FAMILIES", "LAYOUTS", "decode", "find_difference", "get_ratio", "load",
           "make_checkpoint", "make_inputs", "quantize", "quiet", "read_tensors", "save_plain",
           "taken_over", "write_tensors"]
