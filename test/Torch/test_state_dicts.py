# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State dicts of quantized models: what they hold, and that codes of one form are never taken as
those of another."""

import copy
import io
import itertools
import tempfile
import unittest
import warnings
from pathlib import Path

import torch
from torch import nn

import blockscale
import blockscale.torch
from blockscale import _native, checkpoint
from blockscale.torch import mark_state_dict
from blockscale.torch._state import MARK_BYTES, make_mark, read_form
from test_checkpoint import save_file


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def policy(rule):
    return {"version": 1, "leave_last_projection": False, "rules": [rule]}


FORMATS = ("nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8")
WEIGHTS = {"format": "nvfp4", "weight_only": True}
BOTH = {"format": "nvfp4"}


def list_rules():
    """Rules of all formats and recipes, of weights alone and of both operands, of operands that
    differ, and of all kinds of global scales."""
    for format, recipe, alone in itertools.product(FORMATS, (None, *_native.recipes),
                                                   (True, False)):
        yield {"format": format, **({"recipe": recipe} if recipe else {}),
               **({"weight_only": True} if alone else {})}
    for one, other in itertools.permutations(FORMATS[1:], 2):
        yield {"weights": {"format": one}, "activations": {"format": other}}
    yield {"format": "nvfp4", "weights": {"recipe": "te"}}
    yield {"format": "nvfp4", "activations": {"recipe": "te"}}
    for one, other in itertools.product(("none", "dynamic", {"amax": 4.0}), repeat=2):
        yield {"format": "nvfp4", "weights": {"global_scale": one},
               "activations": {"global_scale": other}}
        yield {"format": "nvfp4", "weights": {"global_scale": one}, "weight_only": True}
    for more in ({"weights": {"sweep": True}}, {"rht": True}, {"cast": "bf16"}, {"cast": "f16"}):
        yield {"format": "nvfp4", **more}
        yield {"format": "nvfp4", "weight_only": True, **more}
    yield {"format": "mxfp8", "rht": True}
    for alone in (True, False):
        yield {"format": "nvfp4", "weight_only": alone, "order": "chain"}
        yield {"format": "nvfp4", "weight_only": alone, "order": "free"}


def get_key(rule):
    """What a rule says, with what it leaves out: rules of one key are one form."""
    def read(member):
        own = {**rule, **rule.get(member, {})}
        is_swept = bool(own.get("sweep"))
        default = "modelopt" if is_swept else "torchao" if own["format"] == "nvfp4" else "rceil"
        scale = own.get("global_scale", "dynamic" if own["format"] == "nvfp4" else "none")
        return (own["format"], own.get("recipe", default), is_swept,
                scale if isinstance(scale, str) else "amax")
    activations = "plain" if rule.get("weight_only") else read("activations")
    return (read("weights"), activations, rule.get("rht", False), rule.get("cast"),
            rule.get("order", "free"))


def make(rule, device="cpu"):
    """A layer, whose weight is 64 x 64."""
    torch.manual_seed(0)
    with torch.device(device):
        model = nn.Sequential(nn.Linear(64, 64)).bfloat16().eval()
    blockscale.torch.quantize_(model, policy(rule))
    return model


class Blocks(nn.Module):
    """Layers whose weights lie behind one another, and others."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(64, 128), nn.Linear(64, 128)
        self.out = nn.Linear(128, 64, bias=False)

    def forward(self, x):
        return self.out(self.q(x) * self.k(x))


def make_blocks(rule, seed=0):
    torch.manual_seed(seed)
    model = Blocks().bfloat16().eval()
    blockscale.torch.quantize_(model, policy(rule))
    return model


def strip(state):
    """As a version without marks wrote it."""
    return {name: value for name, value in state.items() if not name.endswith("_extra_state")}


class MatrixTest(unittest.TestCase):
    def test_all_forms_crosswise(self):
        """A dict is loaded by a model of its form, and refused by all others, whatever the way to
        load. Without memory, since marks say it all."""
        models, seen = [], set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for rule in list_rules():
                try:
                    model = make(rule, "meta")
                except blockscale.ArgumentError:
                    continue  # A recipe of another format.
                if get_key(rule) not in seen and not isinstance(model[0], nn.Linear):
                    seen.add(get_key(rule))
                    models.append((get_key(rule), model, model.state_dict()))
        self.assertGreater(len(models), 100)
        for key, _, state in models:
            with self.subTest(key):
                mark = state["0._extra_state"]
                self.assertTrue(torch.equal(make_mark(read_form(mark)), mark))
        loaded = 0
        for (key, model, _), (other, _, state) in itertools.product(models, repeat=2):
            for options in ({"strict": True}, {"strict": False}, {"assign": True}):
                if key == other:
                    model.load_state_dict(state, **options)
                    loaded += 1
                    continue
                with self.assertRaisesRegex(RuntimeError, "'0': expected .* as the layer has it, "
                                                          "but got .* by the policy"):
                    model.load_state_dict(state, **options)
        self.assertEqual(loaded, 3 * len(models))

    def test_message(self):
        model, state = make(WEIGHTS), make(BOTH).state_dict()
        with self.assertRaisesRegex(
                RuntimeError, "'0': expected format of activations plain, block of activations "
                              "none, .*as the layer has it, but got format of activations nvfp4, "
                              "block of activations 16, recipe of activations torchao"):
            model.load_state_dict(state, strict=False)

    def test_a_recipe_by_name_is_the_default(self):
        """So that a policy may name what another leaves out. The compiler says which it is."""
        for format, recipe in (*((each, "rceil") for each in FORMATS[1:]), ("nvfp4", "torchao")):
            with self.subTest(format):
                one, other = (make({"format": format, **more}, "meta")
                              for more in ({}, {"recipe": recipe}))
                one.load_state_dict(other.state_dict())

                @blockscale.jit
                def quantize(x):
                    return (*blockscale.quantize(x, format=format),
                            *blockscale.quantize(x, format=format, recipe=recipe))
                torch.manual_seed(0)
                data, scales, *others = quantize(torch.randn(16, 256) * torch.logspace(-9, 9, 256))
                for mine, named in zip((data, scales), others):
                    self.assertEqual(mine.view(torch.uint8).tolist(),
                                     named.view(torch.uint8).tolist())


class WaysTest(unittest.TestCase):
    """Marks go through all that state dicts go through."""

    def check(self, state, rule=WEIGHTS, **options):
        model, fresh = make_blocks(rule), make_blocks(rule, seed=1)
        x = torch.randn(5, 64).bfloat16()
        self.assertFalse(torch.equal(fresh(x), model(x)))
        fresh.load_state_dict(state, **options)
        self.assertTrue(torch.equal(fresh(x), model(x)))
        with self.assertRaisesRegex(RuntimeError, "as the layer has it, but got"):
            make_blocks({"format": "nvfp4", "recipe": "te", "weight_only": True}).load_state_dict(
                state, **options)

    def test_files(self):
        state = make_blocks(WEIGHTS).state_dict()
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        self.check(torch.load(file, weights_only=True))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.safetensors")
            save_file(state, path)
            self.check({name: tensor.torch(copy=True)
                        for name, tensor in checkpoint.open(path).tensors.items()})

    def test_ways_to_load(self):
        state = make_blocks(WEIGHTS).state_dict()
        for options in ({}, {"strict": False}, {"assign": True}):
            self.check(copy.deepcopy(state), **options)

    def test_copies(self):
        model = copy.deepcopy(make_blocks(WEIGHTS))
        self.check(model.state_dict())
        self.check(model.half().bfloat16().state_dict())

    def test_meta(self):
        with torch.device("meta"):
            empty = Blocks().bfloat16().eval()
        blockscale.torch.quantize_(empty, policy(WEIGHTS))
        model, x = make_blocks(WEIGHTS), torch.randn(5, 64).bfloat16()
        empty.load_state_dict(model.state_dict(), assign=True)
        self.assertTrue(torch.equal(empty(x), model(x)))

    def test_parts(self):
        """A large model comes in several files, each of which is loaded by itself: marks come
        first. A mark stands for each of its tensors once."""
        model, fresh = make_blocks(WEIGHTS), make_blocks(WEIGHTS, seed=1)
        x, items = torch.randn(5, 64).bfloat16(), list(model.state_dict().items())
        for number in range(0, len(items), 2):
            fresh.load_state_dict(dict(items[number:number + 2]), strict=False)
        self.assertTrue(torch.equal(fresh(x), model(x)))
        with self.assertRaisesRegex(RuntimeError, "'q.data': expected a mark 'q._extra_state'"):
            fresh.load_state_dict({"q.data": model.q.data.clone()}, strict=False)

    def test_parts_that_are_filled_up(self):
        """As accelerate loads files of a large model: PyTorch puts the model's own tensors where a
        file has none."""
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
        options = StateDictOptions(full_state_dict=True, strict=False)
        model, fresh = make_blocks(WEIGHTS), make_blocks(WEIGHTS, seed=1)
        other = make_blocks({"format": "nvfp4", "recipe": "te", "weight_only": True})
        x, items = torch.randn(5, 64).bfloat16(), list(model.state_dict().items())
        for number in range(0, len(items), 2):
            part = dict(items[number:number + 2])
            set_model_state_dict(fresh, dict(part), options=options)
        self.assertTrue(torch.equal(fresh(x), model(x)))
        with self.assertRaisesRegex(RuntimeError, "expected recipe of weights te, as the layer"):
            set_model_state_dict(other, dict(items[:2]), options=options)
        with self.assertRaisesRegex(RuntimeError, "'q.data': expected a mark"):
            set_model_state_dict(fresh, {"q.data": model.q.data.clone()}, options=options)

    def test_distributed_checkpoints(self):
        """They are loaded into the tensors of a state dict."""
        import torch.distributed.checkpoint as distributed
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        state = make_blocks(WEIGHTS).state_dict()
        folder = self.enterContext(tempfile.TemporaryDirectory())
        distributed.save(state, checkpoint_id=folder)
        found = make_blocks({"format": "nvfp4", "recipe": "te", "weight_only": True}).state_dict()
        distributed.load(found, checkpoint_id=folder)
        self.check(found)
        self.assertEqual({each.numel() for name, each in state.items() if "_extra" in name},
                         {MARK_BYTES})

    def test_rows_of_one_global_scale(self):
        """Layers whose weights lie behind one another have a number for each row in memory, all of
        which follow a write. A state dict has one."""
        model = make_blocks(WEIGHTS)
        self.assertEqual(list(model.q.global_scale.shape), [128])
        before = model.q(torch.eye(64).bfloat16()) - model.q.bias
        model.q.global_scale.mul_(2)
        after = model.q(torch.eye(64).bfloat16()) - model.q.bias
        torch.testing.assert_close(after, 2 * before, rtol=0.05, atol=0.05)
        state = model.state_dict()
        self.assertEqual(list(state["q.global_scale"].shape), [])
        fresh = make_blocks(WEIGHTS, seed=1)
        fresh.load_state_dict(state)
        self.assertTrue(torch.equal(fresh.q.global_scale, model.q.global_scale))
        model.q.global_scale[3] = 1
        with self.assertRaisesRegex(blockscale.ArgumentError, "one global scale for all rows"):
            model.state_dict()
        fresh.load_state_dict(state)


class RefusedTest(unittest.TestCase):
    def test_old_dicts(self):
        """They have no marks. What the user knows of them, mark_state_dict says."""
        for rule in (WEIGHTS, BOTH, {"format": "mxfp8"}):
            model = make(rule)
            old = strip(model.state_dict())
            torch.manual_seed(1)
            fresh = nn.Sequential(nn.Linear(64, 64)).bfloat16().eval()
            blockscale.torch.quantize_(fresh, policy(rule))
            for strict in (True, False):
                with self.assertRaisesRegex(
                        RuntimeError, r"'0.data': expected a mark '0._extra_state'.*load "
                                      r"blockscale.torch.mark_state_dict\(state, model\)"):
                    fresh.load_state_dict(old, strict=strict)
            # Its own tensors are no others: nothing changes.
            model.load_state_dict(old, strict=False)
            marked = mark_state_dict(old, fresh)
            self.assertEqual(list(strip(marked)), list(old))
            fresh.load_state_dict(marked)
            x = torch.randn(5, 64).bfloat16()
            self.assertTrue(torch.equal(fresh(x), model(x)))

    def test_marks_that_are_there_stay(self):
        state = make(BOTH).state_dict()
        with self.assertRaisesRegex(blockscale.ArgumentError, "that has no mark, but got none"):
            mark_state_dict(state, make(WEIGHTS))
        with self.assertRaisesRegex(blockscale.ArgumentError, "Module, but got int"):
            mark_state_dict(state, 3)
        old = strip(make({"format": "mxfp8"}).state_dict())
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    r"'0.data': expected torch.uint8 of shape \[64, 32\], but got "
                                    r"torch.uint8 of shape \[64, 64\]"):
            mark_state_dict(old, make(WEIGHTS))

    def test_broken_marks(self):
        model = make(WEIGHTS)
        state, blank = model.state_dict(), b" " * MARK_BYTES
        key = "0._extra_state"
        text = bytes(state[key].tolist())

        def encode(value):
            return torch.tensor(list(value), dtype=torch.uint8)
        for mark, message in ((encode(blank), "a mark of JSON"), (encode(b"[]"), "with members"),
                              (encode(text[:9]), "a mark of JSON"),
                              (encode(b"\xff" * 8), "a mark of JSON"),
                              (state[key].float(), "bytes, but got torch.float32 of shape"),
                              ({"format": "nvfp4"}, "a mark of bytes, but got dict"),
                              (encode(text.replace(b'"version": 1', b'"version": 2')),
                               "a mark of version 1, but got 2, which another version")):
            with self.subTest(message), self.assertRaisesRegex(RuntimeError, message):
                model.load_state_dict({**state, key: mark})
        with self.assertRaisesRegex(blockscale.ArgumentError, "a mark of JSON"):
            model[0].set_extra_state(encode(blank))
        model[0].set_extra_state(state[key])

    def test_tensors(self):
        """Of other shapes and types, of none of the form, and plain ones."""
        model = make({"format": "nvfp4", "activations": {"global_scale": {"amax": 4.0}}})
        state = model.state_dict()
        cases = {
            "0.data": (state["0.data"].float(), (r"expected torch.uint8 of shape \[64, 32\], but "
                                                 r"got torch.float32 of shape \[64, 32\]")),
            "0.scales": (state["0.scales"].view(torch.float8_e4m3fn), "but got torch.float8_e4m3"),
            "0.global_scale": (torch.ones(64), (r"expected torch.float32 of shape \[\], but got "
                                                r"torch.float32 of shape \[64\]")),
            "0.input_global": (torch.ones((), dtype=torch.float64), "but got torch.float64"),
            "0.weight": (torch.zeros(64, 64), "the codes of a quantized weight, but got a plain"),
        }
        for name, (value, message) in cases.items():
            for options in ({}, {"strict": False}, {"assign": True}):
                with self.subTest(name, **options), self.assertRaisesRegex(
                        RuntimeError, f"'{name}': .*{message}"):
                    model.load_state_dict({**state, name: value}, **options)
        plain = nn.Sequential(nn.Linear(64, 64)).bfloat16()
        with self.assertRaisesRegex(RuntimeError, "but got a plain one"):
            model.load_state_dict(plain.state_dict(), strict=False)
        dynamic = make(BOTH)
        with self.assertRaisesRegex(RuntimeError, "'0.input_global': expected no such tensor"):
            dynamic.load_state_dict({**dynamic.state_dict(), "0.input_global": torch.ones(())})
        # What has no entries at all is PyTorch's to tell.
        self.assertEqual(sorted(model.load_state_dict({}, strict=False).missing_keys),
                         sorted(state))

    def test_numbers(self):
        """Codes, scales and global scales that are no numbers are refused, as in files."""
        def with_byte(tensor, byte):
            tensor = tensor.clone()
            tensor.view(torch.uint8)[3, 1] = byte
            return tensor
        nan, infinite = float("nan"), float("inf")
        number = "expected a positive, finite number, but got "
        codes = "expected codes that are numbers, but got "
        for rule, name, change, message in (
                (WEIGHTS, "scales", 0x7F, "expected scales that are numbers, but got 1 NaN"),
                (WEIGHTS, "scales", 0xFF, "expected scales that are numbers, but got 1 NaN"),
                (WEIGHTS, "scales", 0x80, "expected scales that are not negative, but got some"),
                (WEIGHTS, "global_scale", nan, f"{number}nan"),
                (WEIGHTS, "global_scale", infinite, f"{number}inf"),
                (WEIGHTS, "global_scale", 0.0, f"{number}0.0"),
                (WEIGHTS, "global_scale", -1.0, f"{number}-1.0"),
                ({"format": "nvfp4", "activations": {"global_scale": {"amax": 4.0}}},
                 "input_global", nan, f"{number}nan"),
                ({"format": "mxfp8"}, "data", 0x7F, f"{codes}1 NaN"),
                ({"format": "mxfp8_e5m2"}, "data", 0xFE, f"{codes}1 infinite or NaN"),
                ({"format": "mxfp8_e5m2"}, "data", 0x7C, f"{codes}1 infinite or NaN"),
                *(({"format": format}, "scales", 0xFF, "expected scales that are numbers, but got")
                  for format in FORMATS[1:])):
            with self.subTest(rule, name=name, change=change):
                model = make(rule)
                state = {each: tensor.clone() for each, tensor in model.state_dict().items()}
                before = {each: tensor.clone() for each, tensor in state.items()}
                key = f"0.{name}"
                state[key] = (torch.full_like(state[key], change) if isinstance(change, float)
                              else with_byte(state[key], change))
                for options in ({}, {"strict": False}, {"assign": True}):
                    with self.assertRaisesRegex(RuntimeError, f"'{key}': {message}"):
                        model.load_state_dict(state, **options)
                for each, tensor in model.state_dict().items():
                    self.assertTrue(torch.equal(tensor, before[each]), each)
        # The largest numbers, and codes of formats that have no other.
        for rule, name, byte in ((WEIGHTS, "scales", 0x7E), ({"format": "mxfp8"}, "data", 0xFE),
                                 ({"format": "mxfp8_e5m2"}, "data", 0x7B),
                                 ({"format": "mxfp8"}, "scales", 0xFE),
                                 ({"format": "mxint8"}, "data", 0x80), (WEIGHTS, "data", 0xFF)):
            with self.subTest(rule, name=name, byte=byte):
                model = make(rule)
                state = model.state_dict()
                state[f"0.{name}"] = with_byte(state[f"0.{name}"], byte)
                model.load_state_dict(state)

    def test_a_refused_weight_stays(self):
        model, x = make_blocks(WEIGHTS), torch.randn(5, 64).bfloat16()
        wanted = model(x)
        state = strip(make_blocks(WEIGHTS, seed=1).state_dict())
        with self.assertRaises(RuntimeError):
            model.load_state_dict(state)
        self.assertTrue(torch.equal(model.q.data, make_blocks(WEIGHTS).q.data))
        self.assertTrue(torch.equal(model(x), wanted))
