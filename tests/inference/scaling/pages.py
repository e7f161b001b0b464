"""What servers answer at /metrics, in short: written here after their sources, not read from an image."""

TGI = """\
# TYPE tgi_queue_size gauge
tgi_queue_size 3
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 4
# TYPE tgi_batch_current_max_tokens gauge
tgi_batch_current_max_tokens 16384
# TYPE tgi_request_count counter
tgi_request_count 12
# TYPE tgi_request_failure counter
tgi_request_failure{err="overloaded"} 2
tgi_request_failure{err="validation"} 1
tgi_request_failure{err="generation"} 1
# TYPE tgi_request_queue_duration histogram
tgi_request_queue_duration_bucket{le="0.00015"} 0
tgi_request_queue_duration_bucket{le="+Inf"} 9
tgi_request_queue_duration_sum 4.5
tgi_request_queue_duration_count 9
# TYPE tgi_request_validation_duration histogram
tgi_request_validation_duration_bucket{le="+Inf"} 9
tgi_request_validation_duration_sum 0.01
tgi_request_validation_duration_count 9
# TYPE tgi_batch_inference_duration histogram
tgi_batch_inference_duration_bucket{method="prefill",le="+Inf"} 9
tgi_batch_inference_duration_sum{method="prefill"} 2.5
tgi_batch_inference_duration_count{method="prefill"} 9
tgi_batch_inference_duration_sum{method="decode"} 60.5
tgi_batch_inference_duration_count{method="decode"} 900
# TYPE tgi_request_mean_time_per_token_duration histogram
tgi_request_mean_time_per_token_duration_sum 0.4
tgi_request_mean_time_per_token_duration_count 9
# TYPE tgi_request_duration histogram
tgi_request_duration_sum 90.5
tgi_request_duration_count 9
# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_sum 900
tgi_request_generated_tokens_count 9
"""

VLLM = """\
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 9001
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="chat"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="chat"} 1.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="chat",reason="capacity"} 1.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="chat"} 900.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="chat"} 0.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="chat"} 9.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="chat"} 3.5
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_count{engine="0",model_name="chat"} 900.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="chat"} 30.5
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_count{engine="0",model_name="chat"} 9.0
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="chat"} 90.5
# TYPE vllm:request_generation_tokens histogram
vllm:request_generation_tokens_count{engine="0",model_name="chat"} 9.0
vllm:request_generation_tokens_sum{engine="0",model_name="chat"} 900.0
"""
