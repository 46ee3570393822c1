"""Trained models: read from a file, described, and used to predict new graphs."""

from ifmixup.prediction.card import card_text, model_card
from ifmixup.prediction.predictor import Predictor

__all__ = ["Predictor", "card_text", "model_card"]
