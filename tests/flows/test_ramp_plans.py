"""A pick goes by its indexes in PostgreSQL, also before the tables were analysed."""

from campaignbridge.store.sql import catalogue

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def test_a_second_pick_right_after_a_first_one_looks_at_each_person_by_index(ramp):
    ramp.people(3_000)
    ramp.init(tiers=(2_000, 500))
    if ramp.world.home.dialect == "postgres":
        ramp.world.home.rows("ALTER TABLE assignments SET (autovacuum_enabled = off)")
        ramp.world.home.rows("ANALYZE assignments")
    ramp.started("picked")
    (wave,) = ramp.waves()
    with ramp.wiring.store.unit() as unit:
        unit.assignments._tx.one("assignments.by_index")
        plan = plan_of(unit.assignments._tx, ramp.world.home.dialect, wave)
    assert "Seq Scan on assignments" not in plan
    assert "SCAN a\n" not in plan


def plan_of(tx, dialect, wave):
    statement = catalogue(dialect)["assignments.pick"]
    facts = {**FACTS, "wave_id": wave.id, "ramp_id": wave.ramp_id}
    explain = "EXPLAIN" if dialect == "postgres" else "EXPLAIN QUERY PLAN"
    rows = tx._connection.execute(f"{explain} {statement.filled(facts)}", facts).fetchall()
    return "".join(f"{tuple(dict(row).values())[-1]}\n" for row in rows)


FACTS = {
    "audience_id": 1,
    "from_lot": 0,
    "until_lot": (1 << 63) - 1,
    "locale": None,
    "attributes": "{}",
    "not_in": "[]",
    "most_literal": 500,
}


def test_what_goes_by_index_is_of_its_transaction_alone(postgres_home):
    store = postgres_home.store()
    with store.unit() as unit:
        unit.assignments._tx.one("assignments.by_index")
    with store.unit() as unit:
        row = unit.assignments._tx._connection.execute("SHOW enable_seqscan").fetchone()
    assert "on" in (dict(row) if not isinstance(row, tuple) else {"x": row[0]}).values()
