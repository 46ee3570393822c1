import torch
from hypothesis import settings

# One thread a worker: tensors here are tiny, and tests run beside each other.
torch.set_num_threads(1)
settings.register_profile("ifmixup", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("ifmixup")
