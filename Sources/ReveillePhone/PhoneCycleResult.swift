public import Foundation
import WakeFeed

/// The reason of a cycle.
public enum PhoneReason: Sendable, Equatable {
    /// The user or the app wants to know now.
    case manual
    /// A silent push came. The check begins within the spread that the publisher asks for, 5 s at
    /// most, and not at all while wakes are paused or after ``PhoneClient/unregister()``.
    case push
    /// Time has passed: `BGAppRefreshTask`, or a start of the app.
    case poll
}

/// The result of a cycle.
public struct PhoneCycleResult: Sendable, Equatable {
    /// What the check of the feed came to.
    public enum Outcome: Sendable, Equatable {
        /// The feed has nothing that was not checked before.
        case upToDate
        /// New batches were checked. `matches` are those that were not known before.
        case checked(batches: Int, matches: Int)
        /// The feed is retired: nothing will ever be published again.
        case retired
        /// A push that came while wakes are paused, or after ``PhoneClient/unregister()``.
        case ignored
    }

    /// What the check of the feed came to, as far as it came.
    public let outcome: Outcome
    /// The failure that ended the check or left something unchecked; nil when all was checked.
    public let failure: PhoneError?
    /// Every match that was not acknowledged, of this cycle and before.
    public let matches: [PhoneMatch]
    /// When to run the next cycle: `BGAppRefreshTaskRequest.earliestBeginDate`.
    public let nextCycle: Date

    /// Whether this cycle found matches: `UIBackgroundFetchResult.newData`.
    public var hasNewMatches: Bool {
        if case .checked(_, let matches) = outcome { matches > 0 } else { false }
    }
}

extension PhoneCycleResult {
    /// Seconds to the next cycle: as the feed asks, between 15 minutes and a day, at random around
    /// it; sooner after a failure, or when a push announced what a cache did not have yet.
    static func pause(
        after failure: PhoneError?, _ outcome: Outcome, _ reason: PhoneReason,
        _ settings: FeedSettings
    ) -> Double {
        if failure != nil { return .random(in: 900...1800) }
        if reason == .push, outcome == .upToDate {
            return Double(settings.cacheSeconds) + .random(in: 0...Double(settings.spreadSeconds))
        }
        let seconds = settings.pollSeconds == 0 ? 14_400 : Double(settings.pollSeconds)
        return min(max(seconds * .random(in: 0.5...1.5), 900), 86_400)
    }
}
