/*
 * The dissector: what it counts and what it matches. Opens, sessions and what bodies say are in
 * test_dissect_opens.c; encryption, compression and keys in test_dissect_sealed.c.
 */
#include "dissect_world.h"

/* ---- counting ---- */

static void every_element_of_a_compound_is_a_message_of_its_frame(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"a"));
    put_list(related(w, SMB2_QUERY_DIRECTORY, 2), WIRE_FILE_ID_RELATED);
    put_close(related(w, SMB2_CLOSE, 3), WIRE_FILE_ID_RELATED);
    size_t length = w->w.pos;
    deliver(w, 0, TO_SERVER);

    assert_int_equal(w->message_count, 3);
    size_t bytes = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct message *m = &w->messages[i];
        assert_int_equal(m->frame, 1);
        assert_int_equal(m->first_in_record, i == 0);
        assert_false(m->response || m->interim || m->unsolicited || m->cut || m->decrypted);
        assert_int_equal(m->session_id, SESSION);
        assert_ptr_equal(m->flow, &w->flows[0]);
        bytes += m->bytes;
    }
    assert_int_equal(bytes, length);
    assert_int_equal(w->messages[2].command, SMB2_CLOSE);
    assert_int_equal(counts(w).records, 1);
    assert_int_equal(counts(w).malformed, 0);
    world_free(w);
}

static void smb1_is_counted_and_its_negotiation_answered_in_smb2(void **state)
{
    struct world *w = world_new(NULL);
    give(w, 0, TO_SERVER, "\xffSMB\x72 and so on", 15, 15);
    wire_negotiate_response_encode(response(w, SMB2_NEGOTIATE, 0, STATUS_SUCCESS),
                                   &(struct wire_negotiate_response){.dialect = SMB2_DIALECT_WILD});
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(counts(w).smb1_messages, 1);
    assert_int_equal(w->message_count, 1);
    assert_int_equal(counts(w).unmatched_responses, 0);

    struct flow_facts f;
    dissect_flow_facts(&w->flows[0], &f);
    assert_int_equal(f.dialect, 0); /* the real negotiation is still to come */
    world_free(w);
}

static void what_is_no_message_is_counted_and_the_next_record_is_read(void **state)
{
    struct world *w = world_new(NULL);
    give(w, 0, TO_SERVER, "nothing that is known", 21, 21);
    assert_int_equal(counts(w).malformed, 1);
    give(w, 0, TO_SERVER, "\xfeSMB", 4, 4);
    assert_int_equal(counts(w).malformed, 2);
    give(w, 0, TO_SERVER, "", 0, 0);
    assert_int_equal(counts(w).malformed, 3);
    wire_empty_encode(request(w, 19, 1)); /* no such command */
    deliver(w, 0, TO_SERVER);
    assert_int_equal(counts(w).malformed, 4);
    assert_int_equal(w->message_count, 0);

    wire_empty_encode(request(w, SMB2_ECHO, 2));
    deliver(w, 0, TO_SERVER);
    assert_int_equal(w->message_count, 1);
    assert_int_equal(counts(w).malformed, 4);
    world_free(w);
}

static void a_next_command_that_leads_nowhere_ends_the_record(void **state)
{
    static const uint32_t nowhere[] = {1, 63, 73, 1000, 0x80000000, UINT32_MAX};
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        struct world *w = world_new(NULL);
        wire_empty_encode(request(w, SMB2_ECHO, 1));
        wire_empty_encode(related(w, SMB2_ECHO, 2));
        wr_put32(&w->w, 20, nowhere[i]);
        deliver(w, 0, TO_SERVER);
        assert_int_equal(w->message_count, 1); /* its own header was good */
        assert_int_equal(counts(w).malformed, 1);
        world_free(w);
    }
}

static void a_body_that_is_not_the_commands_is_malformed_but_a_message(void **state)
{
    struct world *w = world_new(NULL);
    wire_empty_encode(request(w, SMB2_CREATE, 1));
    deliver(w, 0, TO_SERVER);
    assert_int_equal(w->message_count, 1);
    assert_int_equal(counts(w).malformed, 1);
    response(w, SMB2_CREATE, 1, NOT_FOUND);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->exchange_count, 1);
    assert_string_equal(w->exchanges[0].path, "(null)");
    world_free(w);
}

/* ---- cut records ---- */

static void as_much_of_a_compound_as_was_captured_is_counted(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"a"));
    put_close(related(w, SMB2_CLOSE, 2), WIRE_FILE_ID_RELATED);
    size_t second = w->w.origin, length = w->w.pos;
    for (size_t captured = 0; captured < length; captured++) {
        w->message_count = 0;
        give(w, 0, TO_SERVER, w->buf, captured, length);
        size_t expected = captured < 20 ? 0 : captured < second + 20 ? 1 : 2;
        assert_int_equal(w->message_count, expected);
        if (expected)
            assert_int_equal(w->messages[0].cut, captured < second);
        if (expected > 1)
            assert_true(w->messages[1].cut);
    }
    assert_int_equal(counts(w).malformed, 0);
    begin_record(w);
    world_free(w);
}

static void lengths_before_the_cut_are_taken(void **state)
{
    struct world *w = world_new(NULL);
    static uint8_t data[1000];
    open_file(w, 0, 1, (struct rd)BYTES(u"file"), FID(1));
    wire_write_request_encode(request(w, SMB2_WRITE, 2),
                              &(struct wire_write_request){.offset = 4096,
                                                           .file_id = FID(1),
                                                           .data = rd_init(data, sizeof(data))});
    deliver_cut(w, 0, TO_SERVER, 128);
    wire_write_response_encode(response(w, SMB2_WRITE, 2, STATUS_SUCCESS),
                               &(struct wire_write_response){1000});
    deliver(w, 0, FROM_SERVER);
    wire_read_request_encode(request(w, SMB2_READ, 3),
                             &(struct wire_read_request){.length = 1000, .file_id = FID(1)});
    deliver(w, 0, TO_SERVER);
    wire_read_response_encode(response(w, SMB2_READ, 3, STATUS_SUCCESS),
                              &(struct wire_read_response){.data = rd_init(data, sizeof(data))});
    deliver_cut(w, 0, FROM_SERVER, 96);

    const struct kept *written = &w->exchanges[1], *read = &w->exchanges[2];
    assert_int_equal(written->x.payload, 1000);
    assert_int_equal(written->x.offset, 4096);
    assert_string_equal(written->path, "file");
    assert_int_equal(read->x.payload, 1000);
    assert_int_equal(read->x.output_length, 1000);
    world_free(w);
}

static void a_header_cut_before_its_session_is_not_matched(void **state)
{
    struct world *w = world_new(NULL);
    wire_empty_encode(request(w, SMB2_ECHO, 1));
    deliver_cut(w, 0, TO_SERVER, 47);
    wire_empty_encode(request(w, SMB2_ECHO, 2));
    deliver_cut(w, 0, TO_SERVER, 48);
    assert_int_equal(w->message_count, 2);
    dissector_finish(w->d);
    assert_int_equal(w->exchange_count, 1);
    assert_int_equal(w->exchanges[0].x.asked_frame, 2);
    world_free(w);
}

/* ---- matching ---- */

static void a_request_is_matched_with_its_final_response(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 7), (struct rd)BYTES(u"a"));
    deliver(w, 0, TO_SERVER);
    response(w, SMB2_CREATE, 7, STATUS_PENDING);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->exchange_count, 0);
    assert_true(w->messages[1].response && w->messages[1].interim);
    response(w, SMB2_CREATE, 7, NOT_FOUND);
    deliver(w, 0, FROM_SERVER);

    assert_int_equal(w->message_count, 3);
    assert_int_equal(w->exchange_count, 1);
    const struct exchange *x = &w->exchanges[0].x;
    assert_true(x->answered && x->request_seen);
    assert_int_equal(x->status, NOT_FOUND);
    assert_int_equal(x->asked_frame, 1);
    assert_int_equal(x->answered_frame, 3);
    assert_int_equal(x->answered_ns - x->asked_ns, 2000000);
    assert_int_equal(x->request_bytes, w->messages[0].bytes);
    assert_int_equal(x->response_bytes, w->messages[2].bytes);
    assert_int_equal(counts(w).unmatched_responses + counts(w).unanswered_requests, 0);
    world_free(w);
}

static void of_two_final_responses_the_last_counts_for_the_time(void **state)
{
    struct world *w = world_new(NULL);
    put_create(request(w, SMB2_CREATE, 7), (struct rd)BYTES(u"a"));
    deliver(w, 0, TO_SERVER);
    for (size_t i = 0; i < 3; i++) {
        response(w, SMB2_CREATE, 7, NOT_FOUND);
        deliver(w, 0, FROM_SERVER);
    }
    assert_int_equal(w->message_count, 4);
    assert_int_equal(w->exchange_count, 1);
    assert_int_equal(counts(w).unmatched_responses, 0);
    assert_int_equal(w->again_count, 2);
    assert_int_equal(w->again.command, SMB2_CREATE);
    assert_int_equal(w->again.before_ns - w->again.asked_ns, 2000000);
    assert_int_equal(w->again.answered_ns - w->again.asked_ns, 3000000);

    /* of another command or connection, or long after, it is nobody's */
    put_closed(response(w, SMB2_CLOSE, 7, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    response(w, SMB2_CREATE, 7, NOT_FOUND);
    deliver(w, 1, FROM_SERVER);
    for (uint64_t id = 100; id < 132; id++) {
        wire_empty_encode(request(w, SMB2_ECHO, id));
        deliver(w, 0, TO_SERVER);
        wire_empty_encode(response(w, SMB2_ECHO, id, STATUS_SUCCESS));
        deliver(w, 0, FROM_SERVER);
    }
    response(w, SMB2_CREATE, 7, NOT_FOUND);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->again_count, 2);
    assert_int_equal(counts(w).unmatched_responses, 3);
    world_free(w);
}

static void message_ids_are_per_connection(void **state)
{
    struct world *w = world_new(NULL);
    wire_empty_encode(request(w, SMB2_ECHO, 7));
    deliver(w, 0, TO_SERVER);
    wire_empty_encode(response(w, SMB2_ECHO, 7, STATUS_SUCCESS));
    deliver(w, 1, FROM_SERVER);
    assert_int_equal(counts(w).unmatched_responses, 1);
    wire_empty_encode(response(w, SMB2_ECHO, 7, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(counts(w).unmatched_responses, 1);
    assert_true(w->exchanges[1].x.request_seen);
    world_free(w);
}

static void a_cancel_has_no_response_and_leaves_its_request_waiting(void **state)
{
    struct world *w = world_new(NULL);
    open_file(w, 0, 1, (struct rd)BYTES(u"dir"), FID(1));
    wire_change_notify_request_encode(request(w, SMB2_CHANGE_NOTIFY, 2),
                                      &(struct wire_change_notify_request){.file_id = FID(1)});
    deliver(w, 0, TO_SERVER);
    wire_empty_encode(request(w, SMB2_CANCEL, 2));
    deliver(w, 0, TO_SERVER);
    response(w, SMB2_CHANGE_NOTIFY, 2, (uint32_t)STATUS_CANCELLED);
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->exchange_count, 2);
    assert_int_equal(w->exchanges[1].x.command, SMB2_CHANGE_NOTIFY);
    assert_int_equal(w->exchanges[1].x.status, (uint32_t)STATUS_CANCELLED);
    dissector_finish(w->d);
    assert_int_equal(w->exchange_count, 2);
    assert_int_equal(counts(w).unanswered_requests, 0);
    world_free(w);
}

static void a_response_without_its_request_is_an_exchange_of_its_own(void **state)
{
    struct world *w = world_new(NULL);
    wire_read_response_encode(response(w, SMB2_READ, 9, STATUS_SUCCESS),
                              &(struct wire_read_response){.data = BYTES("some bytes")});
    deliver(w, 0, FROM_SERVER);
    const struct kept *k = &w->exchanges[0];
    assert_int_equal(w->exchange_count, 1);
    assert_true(k->x.answered);
    assert_false(k->x.request_seen);
    assert_int_equal(k->x.command, SMB2_READ);
    assert_int_equal(k->x.payload, 10);
    assert_int_equal(k->x.asked_ns, k->x.answered_ns);
    assert_string_equal(k->path, "(null)");
    assert_int_equal(counts(w).unmatched_responses, 1);

    response(w, SMB2_READ, 10, STATUS_PENDING); /* an interim one is a message, and no more */
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(w->message_count, 2);
    assert_int_equal(w->exchange_count, 1);
    world_free(w);
}

static void a_response_to_another_command_is_not_the_requests(void **state)
{
    struct world *w = world_new(NULL);
    wire_empty_encode(request(w, SMB2_ECHO, 1));
    deliver(w, 0, TO_SERVER);
    put_closed(response(w, SMB2_CLOSE, 1, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_int_equal(counts(w).unmatched_responses, 1);
    wire_empty_encode(response(w, SMB2_ECHO, 1, STATUS_SUCCESS));
    deliver(w, 0, FROM_SERVER);
    assert_true(w->exchanges[1].x.request_seen);
    world_free(w);
}

static void what_still_waits_at_the_end_is_given_unanswered(void **state)
{
    struct world *w = world_new(NULL);
    for (uint64_t id = 1; id <= 3; id++) {
        wire_empty_encode(request(w, SMB2_ECHO, id));
        deliver(w, 0, TO_SERVER);
    }
    wire_empty_encode(request(w, SMB2_ECHO, 2)); /* the same id again: the first one was lost */
    deliver(w, 0, TO_SERVER);
    assert_int_equal(w->exchange_count, 1);
    dissector_flow_closed(w->d, &w->flows[0]);
    static const uint64_t frames[] = {2, 1, 3, 4};
    assert_int_equal(w->exchange_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_false(w->exchanges[i].x.answered);
        assert_int_equal(w->exchanges[i].x.asked_frame, frames[i]);
    }
    assert_int_equal(counts(w).unanswered_requests, 4);
    world_free(w);
}

static void requests_that_wait_are_bounded(void **state)
{
    struct world *w = world_new(NULL);
    for (uint64_t id = 0; id < 8200; id++) {
        wire_empty_encode(request(w, SMB2_ECHO, id));
        deliver(w, 0, TO_SERVER);
    }
    assert_int_equal(w->exchange_count, 8);
    assert_int_equal(w->exchanges[7].x.asked_frame, 8); /* the oldest went */
    assert_int_equal(counts(w).open_bound_reached, 8);
    world_free(w);
}

static void elements_of_one_compound_share_a_group(void **state)
{
    struct world *w = world_new(NULL);
    wire_empty_encode(request(w, SMB2_ECHO, 1));
    wire_empty_encode(request(w, SMB2_ECHO, 2));
    deliver(w, 0, TO_SERVER);
    wire_empty_encode(request(w, SMB2_ECHO, 3));
    deliver(w, 0, TO_SERVER);
    dissector_finish(w->d);
    assert_int_equal(w->exchanges[0].x.group, w->exchanges[1].x.group);
    assert_int_not_equal(w->exchanges[0].x.group, w->exchanges[2].x.group);
    world_free(w);
}

/* ---- bytes that nobody should have sent ---- */

/* Every sample in one conversation, cut at every byte, then with every byte of it changed. */
static void no_record_leads_outside_and_a_cut_one_tells_no_more(void **state)
{
    for (size_t i = 0; i < sample_count; i++) {
        uint8_t buf[2048];
        struct wr encoded = wr_init(buf, sizeof(buf));
        int from_server = samples[i].direction == RESPONSE;
        sample_encode(&encoded, &samples[i]);
        struct world *w = world_new(NULL);
        for (size_t n = 0; n <= encoded.pos; n++) {
            w->message_count = 0;
            give(w, 0, from_server, buf, n, encoded.pos);
            assert_int_equal(w->message_count, n >= 20);
        }
        for (size_t at = 0; at < encoded.pos; at++)
            for (unsigned value = 0; value <= UINT8_MAX; value += 15) {
                uint8_t before = buf[at];
                buf[at] = (uint8_t)value;
                give(w, at % 2, from_server, buf, encoded.pos, encoded.pos);
                buf[at] = before;
            }
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_of_a_compound_is_a_message_of_its_frame),
        cmocka_unit_test(smb1_is_counted_and_its_negotiation_answered_in_smb2),
        cmocka_unit_test(what_is_no_message_is_counted_and_the_next_record_is_read),
        cmocka_unit_test(a_next_command_that_leads_nowhere_ends_the_record),
        cmocka_unit_test(a_body_that_is_not_the_commands_is_malformed_but_a_message),
        cmocka_unit_test(as_much_of_a_compound_as_was_captured_is_counted),
        cmocka_unit_test(lengths_before_the_cut_are_taken),
        cmocka_unit_test(a_header_cut_before_its_session_is_not_matched),
        cmocka_unit_test(a_request_is_matched_with_its_final_response),
        cmocka_unit_test(of_two_final_responses_the_last_counts_for_the_time),
        cmocka_unit_test(message_ids_are_per_connection),
        cmocka_unit_test(a_cancel_has_no_response_and_leaves_its_request_waiting),
        cmocka_unit_test(a_response_without_its_request_is_an_exchange_of_its_own),
        cmocka_unit_test(a_response_to_another_command_is_not_the_requests),
        cmocka_unit_test(what_still_waits_at_the_end_is_given_unanswered),
        cmocka_unit_test(requests_that_wait_are_bounded),
        cmocka_unit_test(elements_of_one_compound_share_a_group),
        cmocka_unit_test(no_record_leads_outside_and_a_cut_one_tells_no_more),
    };
    return cmocka_run_group_tests_name("dissect", tests, NULL, NULL);
}
