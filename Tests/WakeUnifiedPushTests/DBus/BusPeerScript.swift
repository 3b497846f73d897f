import TestSupport

/// A program on the bus, written with jeepney: it answers calls, sends signals and breaks rules.
enum BusPeerScript {
    /// Takes the name org.example.Peer and serves until it is killed.
    ///
    /// `Echo` answers with what it got; `Types` with one value of every type; `Fail` with an error;
    /// `Silent` never; `Repeat` sends so many signals. With "big" it speaks big-endian.
    static let serving =
        prelude + """
            order = Endianness.big if sys.argv[1] == "big" else Endianness.little
            connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])
            name = "org.freedesktop.DBus"
            bus = DBusAddress("/org/freedesktop/DBus", name, name)
            # A call that it was started for may come before the answer.
            connection.send(new_method_call(bus, "RequestName", "su", ("org.example.Peer", 4)))
            while True:
                call = connection.receive()
                fields = call.header.fields
                if call.header.message_type == MessageType.method_return:
                    assert call.body == (1,), call.body
                    print("ready", connection.unique_name, flush=True)
                if call.header.message_type != MessageType.method_call:
                    continue
                member = fields[HeaderFields.member]
                signature = fields.get(HeaderFields.signature, "")
                if member == "Echo":
                    answer(connection, call, order, signature, call.body)
                elif member == "Types":
                    answer(connection, call, order, TYPES, VALUES)
                elif member == "Fail":
                    error = new_error(call, "org.example.Error.Odd", "s", ("a secret",))
                    error.header.endianness = order
                    connection.send(error)
                elif member == "Silent":
                    print("silent", flush=True)
                elif member == "Repeat":
                    for number in range(call.body[0]):
                        signal = new_signal(
                            DBusAddress("/org/example", interface="org.example.Peer"), "Tick", "u",
                            (number,))
                        signal.header.endianness = order
                        connection.send(signal)
                    answer(connection, call, order, "", ())
                else:
                    connection.send(new_error(call, "org.freedesktop.DBus.Error.UnknownMethod"))
            """

    /// Calls /org/example/Ours so many times, with so many bytes, and says how it ended.
    static let calling =
        prelude + """
            name, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
            connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])
            ours = DBusAddress("/org/example/Ours", name, "org.example.Ours")
            answers = {}
            for number in range(count):
                reply = connection.send_and_get_reply(
                    new_method_call(ours, "Take", "ay", (b"x" * size,)), timeout=600)
                fields = reply.header.fields
                if reply.header.message_type == MessageType.error:
                    said = fields[HeaderFields.error_name]
                else:
                    said = repr(reply.body)
                answers[said] = answers.get(said, 0) + 1
            print("answers", sorted(answers.items()), flush=True)
            """

    /// Calls what is served at /org/example/Ours, and what is not, and says what was answered.
    static let asking =
        prelude + """
            name, order = sys.argv[1], Endianness.big if sys.argv[2] == "big" else Endianness.little
            connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])

            def ask(path, interface, member, signature=None, body=()):
                call = new_method_call(
                    DBusAddress(path, name, interface), member, signature, body)
                call.header.endianness = order
                reply = connection.send_and_get_reply(call, timeout=600)
                if reply.header.message_type == MessageType.error:
                    said = reply.header.fields[HeaderFields.error_name].split(".")[-1]
                else:
                    said = " ".join(str(value) for value in reply.body).replace("\\n", "")
                print(member, said or "nothing", flush=True)

            ours, path = "org.example.Ours", "/org/example/Ours"
            ask(path, ours, "Take", "ay", (b"xyz",))
            ask(path, ours, "Take", "s", ("xyz",))
            ask(path, ours, "Take", "aay", ([b"xyz"],))
            ask(path, ours, "Give", "ay", (b"",))
            ask(path, "org.example.Other", "Take", "ay", (b"",))
            ask("/org", ours, "Take", "ay", (b"",))
            ask(path, "org.freedesktop.DBus.Peer", "Ping")
            ask(path, "org.freedesktop.DBus.Peer", "GetMachineId")
            ask(path, "org.freedesktop.DBus.Introspectable", "Introspect")
            print("done", flush=True)
            """

    private static let prelude = """
        import os, sys
        from jeepney import *
        from jeepney.io.blocking import open_dbus_connection
        from jeepney.low_level import Endianness

        TYPES = "ybnqiuxtdsogayasa{sv}(i(sd))aav" + "aaya{yad}v"
        VALUES = (
            7, True, -300, 60000, -100000, 4000000000, -2**60, 2**63 + 5, -1.5, "h\\u00e9llo",
            "/org/example", "a{sv}", b"\\x00\\x01\\xff", ["", "b"],
            {"one": ("u", 1), "two": ("as", ["x"])}, (5, ("in", 2.5)), [[("s", "deep")], []],
            [b"", b"\\x05"], {1: [0.5], 2: []}, ("v", ("(yt)", (9, 2**64 - 1))))

        def answer(connection, call, order, signature, body):
            reply = new_method_return(call, signature or None, body)
            reply.header.endianness = order
            connection.send(reply)

        """
}
