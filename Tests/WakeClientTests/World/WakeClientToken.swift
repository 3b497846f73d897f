import WakeClient

/// `WakeModel` has a type of the same name.
typealias WakeClientToken = PushToken
