/// The value of an expression, with what it throws mapped.
///
/// ```swift
/// let file = try mapError(StoreError.file, OpenFile(path, flags: O_RDONLY))
/// ```
/// - Parameter map: often an enum case with the lower error as its value.
@inlinable
package func mapError<Result: ~Copyable, Lower: Error, Upper: Error>(
    _ map: (Lower) -> Upper, _ value: @autoclosure () throws(Lower) -> Result
) throws(Upper) -> Result { try mapError(map) { () throws(Lower) in try value() } }

/// Runs several statements and maps what they throw; they begin with `() throws(LowerError) in`.
@inlinable
package func mapError<Result: ~Copyable, Lower: Error, Upper: Error>(
    _ map: (Lower) -> Upper, _ body: () throws(Lower) -> Result
) throws(Upper) -> Result {
    do throws(Lower) { return try body() } catch { throw map(error) }
}
