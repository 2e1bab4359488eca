#include "report/counters.h"

static json_t *json_of_double(double x)
{
    return og__json_real(x);
}

static json_t *json_of_uint64_t(uint64_t x)
{
    return json_integer((json_int_t)x);
}

static double double_of(const json_t *value)
{
    return json_number_value(value);
}

static uint64_t uint64_t_of(const json_t *value)
{
    return (uint64_t)json_integer_value(value);
}

#define SET_KEY(name, type)   object = og__json_with(object, #name, json_of_##type(c->name));
#define GET_KEY(name, type)   c->name = type##_of(json_object_get(object, #name));
#define ADD_FIELD(name, type) sum->name += more->name;

json_t *og__epoch_counters_json(const struct og_epoch_counters *c, json_t *object)
{
    OG_EPOCH_COUNTERS(SET_KEY)
    return object;
}

json_t *og__prepare_counters_json(const struct og_prepare_counters *c)
{
    json_t *object = json_object();
    OG_PREPARE_COUNTERS(SET_KEY)
    return object;
}

void og__epoch_counters_parse(struct og_epoch_counters *c, const json_t *object)
{
    OG_EPOCH_COUNTERS(GET_KEY)
}

void og__epoch_counters_add(struct og_epoch_counters *sum,
                            const struct og_epoch_counters *more){OG_EPOCH_COUNTERS(ADD_FIELD)}

json_t *og__tier_counters_json(const struct og_tier_counters *c, json_t *object)
{
    if (c->device_hits + c->link_bytes > 0) {
        OG_TIER_COUNTERS(SET_KEY)
    }
    return object;
}

void og__tier_counters_add(struct og_tier_counters *sum, const struct og_tier_counters *more)
{
    OG_TIER_COUNTERS(ADD_FIELD)
}

void og__tier_counters_parse(struct og_tier_counters *c, const json_t *object)
{
    OG_TIER_COUNTERS(GET_KEY)
}
