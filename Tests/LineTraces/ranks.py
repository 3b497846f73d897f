"""How well numbers tell one class from another: the area under the ROC curve, by ranks.

0.5 is chance, 1 tells every pair apart. Areas below 0.5 tell as much as those above: 1 - area counts.
"""

import math
import random


def area(positive, negative):
    """The area and its standard error (DeLong, DeLong and Clarke-Pearson 1988)."""
    values = sorted([(value, 1) for value in positive] + [(value, 0) for value in negative])
    below, above = [], []
    counts, index = [0, 0], 0
    while index < len(values):
        end = index
        while end < len(values) and values[end][0] == values[index][0]:
            end += 1
        ties = [sum(kind == which for _, kind in values[index:end]) for which in (0, 1)]
        # For each positive the share of negatives below it, and the reverse; half for equal ones.
        below += [(counts[0] + ties[0] / 2) / len(negative)] * ties[1]
        above += [1 - (counts[1] + ties[1] / 2) / len(positive)] * ties[0]
        counts = [counts[0] + ties[0], counts[1] + ties[1]]
        index = end
    mean = sum(below) / len(below)
    error = math.sqrt(variance(below) / len(below) + variance(above) / len(above))
    # Complete separation has no variance: as if one pair more had been the other way.
    return mean, max(error, 1 / (len(positive) * len(negative)))


def variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)


def joined(areas):
    """The mean of areas of the same feature in independent groups, and its standard error."""
    mean = sum(area for area, _ in areas) / len(areas)
    return mean, math.sqrt(sum(error ** 2 for _, error in areas)) / len(areas)


def classified(positive, negative, seed, folds=5, rounds=20, thresholds=8):
    """The area of a classifier of all features at once, boosted stumps (Freund and Schapire 1997), on
    rows that it was not trained with."""
    rows = [(row, 1) for row in positive] + [(row, -1) for row in negative]
    random.Random(seed).shuffle(rows)
    scores = {1: [], -1: []}
    for fold in range(folds):
        train = [row for index, row in enumerate(rows) if index % folds != fold]
        stumps = boosted(train, rounds, thresholds)
        for row, kind in rows[fold::folds]:
            votes = (weight * (1 if row[feature] > threshold else -1)
                     for weight, feature, threshold in stumps)
            scores[kind].append(sum(votes))
    return area(scores[1], scores[-1])


def boosted(rows, rounds, thresholds):
    candidates = []
    for feature in range(len(rows[0][0])):
        values = sorted(row[feature] for row, _ in rows)
        for step in range(1, thresholds):
            threshold = values[step * len(values) // thresholds]
            votes = [1 if row[feature] > threshold else -1 for row, _ in rows]
            if len(set(votes)) > 1:
                wrong = [index for index, (_, kind) in enumerate(rows) if votes[index] != kind]
                candidates.append((feature, threshold, votes, wrong))
    weights, stumps = [1 / len(rows)] * len(rows), []
    for _ in range(rounds if candidates else 0):
        errors = [sum(weights[index] for index in wrong) for *_, wrong in candidates]
        best = max(range(len(errors)), key=lambda index: abs(errors[index] - 0.5))
        error = min(max(errors[best], 1e-6), 1 - 1e-6)
        feature, threshold, votes, _ = candidates[best]
        weight = math.log((1 - error) / error) / 2
        stumps.append((weight, feature, threshold))
        weights = [old * math.exp(-weight * vote * kind)
                   for old, vote, (_, kind) in zip(weights, votes, rows)]
        total = sum(weights)
        weights = [weight / total for weight in weights]
    return stumps
