import WakeFeed
import WakeSystem

/// A limit of bytes a day (UTC), for metered connections. Heads and batches are counted before they
/// are fetched: after a crash too much is counted, never too little; the unused rest is given back.
/// Heads are always fetched, with at most half of a day's bytes; the other half is at least two
/// marks from which a fetch can be continued, so every batch arrives after enough days.
struct DailyQuota: Sendable, Equatable, Codable {
    private enum CodingKeys: CodingKey { case day, bytes, waiting }

    /// The smallest limit, bytes a day.
    static let least = 4 * BatchDownload.markBytes
    private static let secondsADay: Int64 = 86_400
    /// A publisher signs a new head at least this often, in days.
    private static let trustedDays: Int64 = 14

    /// Bytes a day.
    var limit = DailyQuota.least
    /// The day that is counted, in days since 1970.
    private(set) var day: Int64
    /// Bytes that were fetched on that day or are reserved.
    private(set) var bytes: Int
    /// Batches that wait for another day.
    var waiting: Int

    init(limit: Int, day: Int64 = 0, bytes: Int = 0, waiting: Int = 0) {
        precondition(limit >= Self.least)
        self.limit = limit
        self.day = day
        self.bytes = max(0, bytes)
        self.waiting = max(0, waiting)
    }

    /// The part of a day that one fetch may use.
    struct Share: Sendable, Equatable {
        /// The bytes after which it is cut: a multiple of 64 KiB when it can be continued there.
        var bytes: Int
        /// A batch that is known to fit into this much is not cut.
        var most: Int
        /// A fetch of which nothing is kept would start over every day: it may go on to its end.
        var isWholeAllowed: Bool
        /// The same for one whose server sends everything though only the rest was asked for.
        var isRestartAllowed = false

        /// False when a response of this length may not fit and leaves nothing for another day.
        mutating func admits(_ length: UInt64?, isRestart: Bool, isKept: Bool) -> Bool {
            if isRestart, isRestartAllowed { isWholeAllowed = true }
            guard !isWholeAllowed else { return true }
            if let length, length <= UInt64(most) {
                bytes = most
                return true
            }
            return isKept && !isRestart
        }
    }

    /// The time at which waiting batches are fetched, seconds since 1970.
    var nextDay: Int64 { (day + 1) * Self.secondsADay }

    private var rest: Int { max(0, limit - bytes) }
    /// Nothing but heads came today.
    private var isFresh: Bool { bytes <= limit / 2 }

    /// Starts another day if it is one; the newest head's time, `signed`, shows a wrong clock.
    mutating func advance(to now: Int64, signed: Int64?) {
        let today = Self.day(now)
        if today > day {
            (day, bytes) = (today, 0)
            return
        }
        // A clock that was set back refills nothing. One that was a year ahead when the bytes were
        // counted delays nothing for a year: today goes on with the bytes counted.
        guard today < day, let signed else { return }
        let published = Self.day(signed)
        if day - published > Self.trustedDays, today >= published { day = today }
    }

    /// Counts a head of at most so many bytes before it is fetched; returns the bytes counted.
    /// Never refused; see above for the bound.
    mutating func reserveHead(_ most: Int) -> Int {
        let count = max(0, min(most, limit / 2 - bytes))
        bytes += count
        return count
    }

    /// The share of the next batch; nil for nothing today. `isKept`: it can be continued another
    /// day; `isResumed`: a part of it is there; `isSecond`: it came damaged and is fetched once
    /// more, to its end: a cache that damages it would otherwise use up every day.
    func share(isKept: Bool, isResumed: Bool = false, isSecond: Bool = false) -> Share? {
        if isSecond { return Share(bytes: rest, most: rest, isWholeAllowed: true) }
        if isKept {
            let marks = rest / BatchDownload.markBytes
            guard marks > 0 else { return nil }
            return Share(
                bytes: marks * BatchDownload.markBytes, most: rest, isWholeAllowed: false,
                isRestartAllowed: isResumed && isFresh)
        }
        guard rest > 0 else { return nil }
        return Share(bytes: rest, most: rest, isWholeAllowed: isFresh)
    }

    /// Counts a share, of `most` bytes at most, before it is used; returns the bytes counted.
    mutating func reserve(_ share: Share, most: Int) -> Int {
        let isWhole = share.isWholeAllowed || share.isRestartAllowed
        let count = isWhole ? most : min(share.most, most)
        bytes += count
        return count
    }

    /// Replaces reserved by received bytes; `isFruitless`: cut, with nothing to use another day.
    mutating func charge(
        reserved: Int, received: Int, isFruitless: Bool, at now: Int64, signed: Int64?
    ) {
        let before = day
        advance(to: now, signed: signed)
        // Midnight passed meanwhile: all of it counts for the new day.
        bytes = day == before ? max(0, bytes - reserved) + received : received
        if isFruitless { bytes = max(bytes, limit) }
    }

    /// Rounded down, also before 1970.
    private static func day(_ time: Int64) -> Int64 {
        let (day, rest) = time.quotientAndRemainder(dividingBy: secondsADay)
        return rest < 0 ? day - 1 : day
    }
}

/// The stored daily quota: fetches are counted before they begin. Nothing here depends on a match.
struct TrafficMeter {
    let limit: Int
    let profile: ProfileState
    let environment: ClientEnvironment

    func stored() throws(ClientError) -> DailyQuota { try profile.database.quota(limit: limit) }

    private func today() throws(ClientError) -> DailyQuota {
        var quota = try stored()
        quota.advance(to: environment.wallSeconds(), signed: profile.record.cursor.newestIssued)
        return quota
    }

    /// Counts a head or the feed's keys; returns the bytes counted.
    func reserve(_ most: Int) throws(ClientError) -> Int {
        var quota = try today()
        let reserved = quota.reserveHead(most)
        try profile.database.save(quota)
        return reserved
    }

    /// Counts a fetch's share of the day; returns its bytes, nil when nothing is left today.
    func reserve(
        for download: BatchDownload, in cache: FeedCache, isSecond: Bool
    ) throws(ClientError) -> Int? {
        var quota = try today()
        let most = BatchDownload.mostBytes
        // Bytes that a full disk cannot keep would come again tomorrow.
        let isKept = download.isKept && cache.hasRoom(for: most)
        let isResumed = download.resumeAt > 0
        guard let share = quota.share(isKept: isKept, isResumed: isResumed, isSecond: isSecond)
        else { return nil }
        download.limit(to: share)
        let reserved = quota.reserve(share, most: most)
        try profile.database.save(quota)
        return reserved
    }

    func charge(_ download: BatchDownload, reserved: Int) throws(ClientError) {
        let progress = download.progress
        try settle(
            progress.received, reserved: reserved,
            isFruitless: progress.isFruitless || (progress.isCut && !download.isKept))
    }

    /// Replaces the reserved bytes by the received ones.
    func settle(
        _ received: Int, reserved: Int, isFruitless: Bool = false
    ) throws(ClientError) {
        var quota = try today()
        quota.charge(
            reserved: reserved, received: received, isFruitless: isFruitless,
            at: environment.wallSeconds(), signed: profile.record.cursor.newestIssued)
        try profile.database.save(quota)
    }

    /// Records the number of waiting batches; returns until when, seconds since 1970, or nil.
    func setWaiting(_ batches: Int) throws(ClientError) -> Int64? {
        var quota = try today()
        if quota.waiting != batches {
            quota.waiting = batches
            try profile.database.save(quota)
        }
        return batches == 0 ? nil : quota.nextDay
    }
}
