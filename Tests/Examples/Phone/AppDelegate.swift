import BackgroundTasks
import Foundation
import ReveillePhone
import UIKit
import UserNotifications

/// An app that is woken by a silent push, looks at the feed, and tells its user on the device.
@main
final class AppDelegate: UIResponder, UIApplicationDelegate {
    /// Also in the list `BGTaskSchedulerPermittedIdentifiers` of Info.plist.
    private static let refresh = "org.example.visits.refresh"

    var window: UIWindow?
    private var client: PhoneClient?
    private let visits = Visits()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        client = try? PhoneClient(
            PhoneConfiguration(
                feed: URL(string: "https://feed.example.org/feed/")!,
                feedKey: "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
                service: URL(string: "https://wake.example.org")!,
                stateDirectory: visits.directory.appendingPathComponent("reveille")))
        // On the main queue: the handler belongs to the main actor. Before this method returns.
        BGTaskScheduler.shared.register(forTaskWithIdentifier: Self.refresh, using: .main) {
            [weak self] task in
            self?.refresh(task)
        }
        // Each start: the system may have issued another token.
        if isWanted { application.registerForRemoteNotifications() }
        let window = UIWindow(frame: UIScreen.main.bounds)
        window.rootViewController = SettingsViewController(self)
        window.makeKeyAndVisible()
        self.window = window
        Task { await check(.poll) }
        return true
    }

    // MARK: Wakes

    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        Task {
            let result = await check(.push)
            completionHandler(
                result?.failure != nil
                    ? .failed : result?.hasNewMatches == true ? .newData : .noData)
        }
    }

    private func refresh(_ task: BGTask) {
        let work = Task {
            let result = await check(.poll)
            task.setTaskCompleted(success: result?.failure == nil)
        }
        // The cycle ends at once, and nothing is lost.
        task.expirationHandler = { work.cancel() }
    }

    func applicationDidEnterBackground(_ application: UIApplication) {
        schedule(at: Date(timeIntervalSinceNow: 3600))
    }

    private func schedule(at date: Date) {
        let request = BGAppRefreshTaskRequest(identifier: Self.refresh)
        request.earliestBeginDate = date
        try? BGTaskScheduler.shared.submit(request)
    }

    /// Everything that is due; then each match is shown, and only then acknowledged.
    @discardableResult
    func check(_ reason: PhoneReason) async -> PhoneCycleResult? {
        guard let client else { return nil }
        let result = await client.cycle(secrets: visits.secrets(), reason: reason)
        for match in result.matches {
            let content = UNMutableNotificationContent()
            content.title = "This concerns your visit “\(match.secretID)”"
            content.body = match.note ?? ""
            // The same identifier: shown again after a kill, the notification is replaced.
            let request = UNNotificationRequest(
                identifier: match.id, content: content, trigger: nil)
            do {
                try await UNUserNotificationCenter.current().add(request)
                try await client.acknowledge(match.id)
            } catch { continue }
        }
        schedule(at: result.nextCycle)
        return result
    }

    // MARK: Registration

    /// What the user has chosen.
    private(set) var isWanted: Bool {
        get { UserDefaults.standard.bool(forKey: "wake") }
        set { UserDefaults.standard.set(newValue, forKey: "wake") }
    }

    func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        #if DEBUG
            let token = PhonePushToken.apns(deviceToken, isSandbox: true)
        #else
            let token = PhonePushToken.apns(deviceToken)
        #endif
        Task { try await client?.register(token) }
    }

    /// Turns wake-ups on or off. Off erases what the service holds, at the latest in a later cycle.
    func setWanted(_ isWanted: Bool) async {
        self.isWanted = isWanted
        if isWanted {
            _ = try? await UNUserNotificationCenter.current()
                .requestAuthorization(options: [.alert, .sound])
            UIApplication.shared.registerForRemoteNotifications()
        } else {
            _ = try? await client?.unregister()
        }
    }

    /// For the settings page: no token, no address, no URL.
    func diagnostics() async -> String {
        await client?.diagnostics() ?? "The configuration cannot work."
    }
}
