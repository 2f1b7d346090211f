//! A model's weights as engines get them: folders that load back, and the log-probs of a probe.

use burn::tensor::Device;
use swerl_model::{CausalLm, StoredDtype};
use swerl_rollout::{
    EngineWeights, LocalLimits, LocalSampler, ModelFolders, Prompt, SampleRequest, Sampler,
    SamplingParams, Stream, TextCodec, WeightUpdate,
};

use crate::local::model;
use crate::support::Bytes;

#[test]
fn a_probe_scores_as_it_was_sampled_and_folders_hold_the_same_weights() {
    let root = tempfile::tempdir().expect("a folder");
    let mut folders = ModelFolders::new(root.path(), StoredDtype::F32, 2);
    let model = model(&Device::flex());
    let prompts = [Prompt {
        id: "p".to_owned(),
        text: "fix it".to_owned(),
        ids: Bytes.encode("fix it"),
        messages: Vec::new(),
        files: Vec::new(),
        skipped: Vec::new(),
        over_budget: false,
    }];
    let params = SamplingParams::plain(12, &[]);
    let request = SampleRequest {
        prompts: &prompts,
        samples_per_prompt: 1,
        params: &params,
        stream: Stream::Tokens,
        seed: 1,
        step: 0,
        first_prompt: 0,
        first_sample: 0,
        weights_version: 0,
    };
    let limits = LocalLimits { max_rows: 8, max_tokens: 1000 };
    let groups =
        LocalSampler::new(Bytes, limits).sample(&model, &request, &mut ()).expect("samples");
    let ids: Vec<u32> = prompts[0].ids.iter().chain(&groups[0][0].ids).copied().collect();
    let scores = folders.log_probs(&model, &ids).expect("scores");
    assert_eq!(scores.len(), ids.len() - 1);
    let sampled = &groups[0][0].raw_log_probs;
    for (scored, sampled) in scores[prompts[0].ids.len() - 1..].iter().zip(sampled) {
        assert!((scored - sampled).abs() < 1e-4, "{scored} {sampled}");
    }
    // Written twice for one version, as after an interruption, and for two more: two folders stay.
    for version in [5, 5, 6, 7] {
        let update = folders.write(&model, version).expect("writes");
        let WeightUpdate::Folder(folder) = update else { panic!("a folder: {update:?}") };
        assert!(folder.ends_with(format!("step-{version:08}")));
        let back = CausalLm::from_folder(&folder, &Device::flex()).expect("loads");
        assert_eq!(folders.log_probs(&back, &ids).expect("scores"), scores);
    }
    assert_eq!(std::fs::read_dir(root.path()).expect("lists").count(), 2);
}
