"""The search over kernel sources: proposers rewrite a kernel, replay judges, MAP-Elites keeps what differs."""
