"""Games: what a position is, which moves are legal, who has won. Rules only; nothing here learns."""

from tengen._kernel_cache import use_kernel_cache

use_kernel_cache()
