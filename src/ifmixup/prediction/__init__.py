"""A trained model at work: read from its file, described, and asked about new graphs."""

from ifmixup.prediction.card import card_text, model_card
from ifmixup.prediction.predictor import Predictor

__all__ = ["Predictor", "card_text", "model_card"]
