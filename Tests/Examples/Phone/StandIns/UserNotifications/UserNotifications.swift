// The part of Apple's UserNotifications that the app names, so that it is compiled without.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
public import Foundation

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)

    public init(rawValue: UInt) { self.rawValue = rawValue }
}

open class UNNotificationContent: NSObject {}

public final class UNMutableNotificationContent: UNNotificationContent {
    public var title = ""
    public var body = ""
}

open class UNNotificationTrigger: NSObject {}

public final class UNNotificationRequest: NSObject {
    public init(
        identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?
    ) {}
}

public final class UNUserNotificationCenter: NSObject {
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }

    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
        true
    }

    public func add(_ request: UNNotificationRequest) async throws {}
}
