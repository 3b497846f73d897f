#if LIBFUZZER
    import Glibc
    import Synchronization

    /// libFuzzer (llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
    enum Guided {
        static let property = Mutex(Property.frames)

        /// - Parameter words: libFuzzer's own options and folders, after the program's name.
        /// - Returns: libFuzzer's exit status.
        static func run(_ chosen: Property, _ words: [String]) -> Int32 {
            property.withLock { $0 = chosen }
            var count = Int32(words.count)
            let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
                capacity: words.count + 1)
            for (index, word) in words.enumerated() { unsafe list[index] = unsafe strdup(word) }
            unsafe list[words.count] = nil
            var start = unsafe list
            return unsafe driver(&count, &start, testOneInput)
        }
    }

    @_cdecl("reveille_test_one_input")
    private func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
        let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
        let property = Guided.property.withLock { $0 }
        guard let violation = property.violation(input) else { return 0 }
        unsafe puts(violation)
        abort()
    }

    @_silgen_name("LLVMFuzzerRunDriver")
    private func driver(
        _ count: UnsafeMutablePointer<Int32>,
        _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    ) -> Int32
#endif
