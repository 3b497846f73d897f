import CReveille
private import Glibc
import Reveille
import WakeFeed
import WakeModel

/// What programs pass, read into values of the library.
enum Reading {
    /// - Throws: `argument` for NULL and for what is not UTF-8.
    static func text(_ pointer: UnsafePointer<CChar>?) throws(CallFault) -> String {
        guard let text = try unsafe optionalText(pointer) else { throw .argument }
        return text
    }

    /// - Returns: nil for NULL.
    static func optionalText(_ pointer: UnsafePointer<CChar>?) throws(CallFault) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        guard let text = unsafe String(validatingCString: pointer) else { throw .argument }
        return text
    }

    /// Checks the size at the beginning of a structure before anything else of it is read.
    static func check<Structure>(
        _ structure: UnsafePointer<Structure>?
    ) throws(CallFault) -> UnsafePointer<Structure> {
        guard let structure = unsafe structure else { throw .argument }
        let size = unsafe UnsafeRawPointer(structure).loadUnaligned(as: Int.self)
        guard size == MemoryLayout<Structure>.size else { throw .size }
        return unsafe structure
    }

    /// Reads a structure that has grown: with zeros for the members that the program's header had
    /// not yet.
    /// - Parameter former: the sizes of earlier headers.
    private static func copy<Structure>(
        _ structure: UnsafePointer<Structure>?, into values: inout Structure, former: [Int]
    ) throws(CallFault) {
        guard let structure = unsafe structure else { throw .argument }
        let bytes = unsafe UnsafeRawPointer(structure)
        let size = unsafe bytes.loadUnaligned(as: Int.self)
        guard size == MemoryLayout<Structure>.size || former.contains(size) else { throw .size }
        unsafe withUnsafeMutableBytes(of: &values) { place in
            unsafe place.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: size))
        }
    }

    static func configuration(
        _ pointer: UnsafePointer<reveille_configuration>?
    ) throws(CallFault) -> ClientConfiguration {
        var values = unsafe reveille_configuration()
        let withoutWitnesses = unsafe MemoryLayout.offset(of: \reveille_configuration.witnesses)
        try unsafe copy(pointer, into: &values, former: withoutWitnesses.map { [$0] } ?? [])
        let state = try unsafe text(values.state_directory)
        let channel: ClientConfiguration.Channel
        switch unsafe values.channel {
        case Int32(REVEILLE_POLL.rawValue): channel = .poll
        case Int32(REVEILLE_STREAM.rawValue): channel = .stream
        default: throw .argument
        }
        var configuration = ClientConfiguration(
            feed: try unsafe text(values.feed), feedKey: try unsafe text(values.feed_key),
            service: try unsafe optionalText(values.service), channel: channel,
            stateDirectory: state,
            cacheDirectory: try unsafe optionalText(values.cache_directory) ?? state + "/cache")
        if let host = try unsafe optionalText(values.proxy_host) {
            configuration.proxy = .init(host: host, port: unsafe values.proxy_port)
        }
        configuration.oblivious = try unsafe optionalText(values.oblivious)
        let budget = Int(clamping: unsafe values.daily_byte_budget)
        configuration.dailyByteBudget = budget == 0 ? nil : budget
        let capacity = Int(clamping: unsafe values.cache_capacity)
        if capacity != 0 { configuration.cacheCapacity = max(0, capacity) }
        configuration.witnesses = try unsafe optionalText(values.witnesses)
        return configuration
    }

    static func pushToken(
        _ pointer: UnsafePointer<reveille_push_token>?
    ) throws(CallFault) -> AppPushToken {
        let values = unsafe try check(pointer).pointee
        let text = Array(try unsafe text(values.text).utf8)
        let p256dh = try unsafe optionalText(values.p256dh).map { Array($0.utf8) }
        let auth = try unsafe optionalText(values.auth).map { Array($0.utf8) }
        let service: AppPushToken.Service
        switch unsafe UInt32(bitPattern: values.service) {
        case REVEILLE_APNS.rawValue: service = .apns
        case REVEILLE_APNS_SANDBOX.rawValue: service = .apnsSandbox
        case REVEILLE_FCM.rawValue: service = .fcm
        case REVEILLE_WEB_PUSH.rawValue: service = .webPush
        default: throw .argument
        }
        do throws(AppPushToken.Fault) {
            switch (p256dh, auth) {
            case (nil, nil): return try AppPushToken(service, text: text)
            case (let p256dh?, let auth?) where service == .webPush:
                return try AppPushToken(endpoint: text, p256dh: p256dh, auth: auth)
            default: break
            }
        } catch { throw CallFault(error) }
        throw .argument
    }

    static func reason(_ number: Int32) throws(CallFault) -> SyncReason {
        switch UInt32(bitPattern: number) {
        case REVEILLE_MANUAL.rawValue: return .manual
        case REVEILLE_PUSH.rawValue: return .push
        default: throw .argument
        }
    }

    static func matchID(_ pointer: UnsafePointer<CChar>?) throws(CallFault) -> MatchID {
        guard let bytes = Hex.decode(Array(try unsafe text(pointer).utf8).span),
            let id = MatchID(bytes: bytes)
        else { throw .argument }
        return id
    }

    /// Gives text to the program, which frees it with `reveille_free`.
    static func give(
        _ text: String, to place: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    ) throws(CallFault) {
        guard let copy = unsafe strdup(text) else { throw .system }
        unsafe place.pointee = copy
    }
}
