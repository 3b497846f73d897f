public import WakeClient

/// An endpoint, as the client takes it. `WakeModel` has a type of the same name.
package typealias EndpointToken = PushToken

/// Why no pushes come.
public typealias DistributorTrouble = Warning.DistributorTrouble
