import WakeModel
import WakeStore

extension Store {
    /// One operation, awaited.
    func ask(_ operation: StoreOperation) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            submit(operation) { continuation.resume(returning: $0) }
        }
    }
}

/// Tokens that two processes can agree on by number.
enum Known {
    static func token(_ number: Int) -> InstanceToken {
        let name = Array("instance \(number)".utf8)
        guard let token = InstanceToken(Blake2b.hash(name.span)) else {
            preconditionFailure("a hash looks random")
        }
        return token
    }

    /// The push token that says which token it belongs to and which version it is.
    static func pushToken(_ number: Int, _ version: Int) -> PushToken {
        let text = Array("push-\(number)-\(version)".utf8)
        guard let token = try? PushToken(service: .fcm, text: text.span) else {
            preconditionFailure("visible ASCII")
        }
        return token
    }
}

extension StoreAnswer {
    /// The word in a line.
    var word: String {
        switch self {
        case .done: "done"
        case .stored(nil): "nothing"
        case .stored: "something"
        case .full: "full"
        case .notAdmitted: "not-admitted"
        case .unavailable: "unavailable"
        case .overloaded: "overloaded"
        }
    }
}
