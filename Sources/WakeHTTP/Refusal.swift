/// Why the server itself turns a request or a connection away. Every refusal ends the connection:
/// after a request that is not understood nobody knows where the next one starts.
package enum Refusal: Sendable, Equatable, CaseIterable {
    case malformed
    case timeout
    case lengthRequired
    case contentTooLarge
    case targetTooLong
    case expectationUnknown
    case headTooLarge
    case methodUnknown
    case methodNotAllowed
    case transferEncoding
    case versionUnknown
    case overloaded
    case answerOverdue
}
