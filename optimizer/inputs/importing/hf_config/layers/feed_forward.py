"""Feed-forward networks: one for every token, or many experts of which a token meets a few."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DenseNetwork:
    """Up and down projection, and a gate beside the first where it is gated."""

    width: int
    gated: bool = True
    bias: bool = False

    def params(self, hidden: int) -> int:
        """Matrices and biases."""
        wide = 2 if self.gated else 1
        return (wide + 1) * hidden * self.width + (wide * self.width + hidden if self.bias else 0)


@dataclass(frozen=True)
class ExpertNetwork:
    """Routed experts with their router, experts that every token meets, and projections into and out of them."""

    count: int
    active: int
    width: int
    passed: int = 0
    """Further rows of the router: choices that pass a token on as it is, shared experts that it weighs."""
    gated: bool = True
    bias: bool = False
    router_bias: bool = False
    selection_bias: bool = False
    """Whether a bias corrects the scores by which experts are chosen."""
    latent: int = 0
    """Width of the state that routed experts see, where it is narrower than the hidden state; 0 where it is not."""
    latent_norm: bool = False
    shared_width: int = 0
    shared_gate: bool = False
    """One more row that weighs the shared experts."""
    router_width: int = 0
    """Of a router of three layers, where it is one."""
    other_params: int = 0

    def params(self, hidden: int) -> int:
        """All experts, the router, and what every token meets."""
        shared = DenseNetwork(self.shared_width, self.gated).params(hidden) + (hidden if self.shared_gate else 0)
        into = self.router_width or hidden
        router = (self.count + self.passed) * (into + (1 if self.router_bias else 0))
        router += into * (hidden + 2 * into) if self.router_width else 0
        latent = 2 * hidden * self.latent + (self.latent if self.latent_norm else 0)
        return self.count * self._one(hidden) + shared + router + latent + self.other_params

    def idle_params(self, hidden: int) -> int:
        """The experts that the router passes over."""
        return (self.count - self.active) * self._one(hidden)

    def _one(self, hidden: int) -> int:
        return DenseNetwork(self.width, self.gated, self.bias).params(self.latent or hidden)


FeedForward = DenseNetwork | ExpertNetwork
