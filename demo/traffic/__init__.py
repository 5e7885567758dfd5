# SPDX-License-Identifier: BSD-3-Clause
"""Programs that make traffic, and their handles on the laboratory's side."""
