# SPDX-License-Identifier: BSD-3-Clause
"""The scenarios, one module each, and what they have in common (base)."""
