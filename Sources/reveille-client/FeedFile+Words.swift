import WakeFeed
import WakeFiles

// Why a file was refused, for scripts and for people.

extension FeedFile.Fault {
    var isUnreadable: Bool {
        switch self {
        case .unreadable, .notRegular: true
        case .notOfAFeed, .refused, .misnamed, .chain, .otherThanHead: false
        }
    }

    /// A stable word.
    var code: StaticString {
        switch self {
        case .unreadable: "unreadable"
        case .notRegular: "not-a-file"
        case .notOfAFeed: "not-of-a-feed"
        case .misnamed: "misnamed"
        case .chain: "chain"
        case .otherThanHead: "other-than-head"
        case .refused(.truncated): "truncated"
        case .refused(.tooLarge): "too-large"
        case .refused(.badSignature): "bad-signature"
        case .refused(.wrongFeed): "wrong-feed"
        case .refused(.rollback): "rollback"
        case .refused(.fork): "fork"
        case .refused(.malformedHead): "malformed-head"
        case .refused(.corruptBatch(.payloadHash)): "payload-hash"
        case .refused(.corruptBatch(.order)): "order"
        case .refused(.corruptBatch(.reservedBytes)), .refused(.corruptBatch(.shape)),
            .refused(.corruptBatch(.sequence)), .refused(.corruptBatch(.size)):
            "malformed-batch"
        }
    }

    var words: String {
        switch self {
        case .unreadable(let error): error.reason
        case .notRegular: "it is no regular file"
        case .notOfAFeed: "it is neither a head nor a batch"
        case .misnamed: "it holds another batch than its name says"
        case .chain(let sequence): "it does not follow batch \(sequence)"
        case .otherThanHead(let sequence): "a head names another batch \(sequence)"
        case .refused(let error): Self.words(error)
        }
    }

    private static func words(_ error: FeedError) -> String {
        switch error {
        case .truncated: "its end is missing"
        case .tooLarge: "it is longer than it may be"
        case .badSignature: "it is not signed with this feed's key"
        case .wrongFeed: "it is signed for another feed"
        case .rollback: "it is older than another"
        case .fork(let sequence): "two different batches were signed as number \(sequence)"
        case .malformedHead: "it is signed, but no head of this version"
        case .corruptBatch(.payloadHash): "its contents are not what was signed"
        case .corruptBatch(.order): "it is signed, but its digests are not ascending"
        case .corruptBatch: "it is signed, but no batch of this version"
        }
    }
}
