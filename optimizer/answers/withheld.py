"""No answer is shown that independent arithmetic does not confirm."""

from typing import TypeVar

from optimizer.base.errors import VerificationFailed
from optimizer.plan.record.horizon import HorizonVerification
from optimizer.plan.record.report import Verification
from optimizer.plan.record.risk import RiskVerification

AnyVerification = TypeVar("AnyVerification", Verification, HorizonVerification, RiskVerification)


def confirmed(verification: AnyVerification, otherwise: str) -> AnyVerification:
    """The verification of an answer that may be shown.

    Args:
        verification: Of it.
        otherwise: What is said, before the checks that failed, where it may not.

    Raises:
        VerificationFailed: some of it does not hold.
    """
    if not verification.passed:
        wrong = "; ".join(f"{check.name}: {check.text}" for check in verification.checks if not check.passed)
        raise VerificationFailed(f"{otherwise}: {wrong}")
    return verification
